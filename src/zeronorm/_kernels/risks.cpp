// The losses compiled: nothing else depends on which one it is.

#include <cstdint>
#include <memory>
#include <type_traits>

#include "cox.hpp"
#include "cox_dual.hpp"
#include "losses.hpp"
#include "risk.hpp"
#include "row_risk.hpp"

namespace zeronorm {

std::unique_ptr<Risk> make_risk(const LossNumber& number, const double* y, const double* weight,
                                std::int64_t n) {
    return with_loss(number, [&]<class Loss>(const Loss& loss) -> std::unique_ptr<Risk> {
        if constexpr (std::is_same_v<Loss, Cox>)
            return std::make_unique<CoxRisk>(loss, y, weight, n);
        else
            return std::make_unique<RowRisk<Loss>>(loss, y, weight, n);
    });
}

}  // namespace zeronorm

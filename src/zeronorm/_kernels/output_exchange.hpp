// The ridge problems of several outputs on some columns of a pool, as `PoolExchanges` takes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "outputs.hpp"
#include "support_fit.hpp"

namespace zeronorm {

// The classes of a multinomial model.
class SharedClasses {
  public:
    explicit SharedClasses(MultinomialRisk& risk) : risk_(risk) {}
    std::int64_t n() const { return risk_.n(); }
    std::int64_t n_rows() const { return risk_.n_rows(); }
    std::int64_t outputs() const { return risk_.outputs(); }

    void begin(std::int64_t m) { penalty_.assign(static_cast<std::size_t>(m * outputs()), 1.0); }

    void fit(const double* z, double tol, double cutoff, SupportFit& found) {
        risk_.restart();
        SharedColumns columns(z, 1, n_rows(), n(), found.columns.data(),
                              static_cast<std::int64_t>(found.columns.size()));
        MultinomialRidge solver(risk_, columns, penalty_.data());
        found.answer = solver.solve(tol, true, cutoff, found.coef.data(), found.margins.data(),
                                    found.dual.data(), n_rows(), found.scores.data());
    }

    double evaluate(const double* margins, double* v, double* curvature) {
        risk_.restart();
        const double value = risk_.evaluate(margins);
        risk_.dual_point(v);
        for (std::int64_t o = 0; o < outputs(); ++o)
            for (std::int64_t i = 0; i < n_rows(); ++i) {
                const std::int64_t place = o * n_rows() + i;
                curvature[place] = risk_.weight()[i] * risk_.shares()[place];
            }
        return value;
    }

  private:
    MultinomialRisk& risk_;
    std::vector<double> penalty_;
};

// Responses.
template <class Loss>
class SharedResponses {
  public:
    explicit SharedResponses(const ResponsesRidge<Loss>& ridge) : ridge_(ridge) {}
    std::int64_t n() const { return ridge_.n(); }
    std::int64_t n_rows() const { return ridge_.n_rows(); }
    std::int64_t outputs() const { return ridge_.outputs(); }

    void begin(std::int64_t m) { penalty_.assign(static_cast<std::size_t>(m * outputs()), 1.0); }

    void fit(const double* z, double tol, double, SupportFit& found) {
        found.answer = ridge_.solve(
            z, 1, n_rows(), found.columns.data(), static_cast<std::int64_t>(found.columns.size()),
            penalty_.data(), tol, true, found.coef.data(), found.margins.data(), found.dual.data(),
            n_rows(), found.scores.data());
    }

    double evaluate(const double* margins, double* v, double* curvature) const {
        return ridge_.evaluate(margins, v, curvature);
    }

  private:
    const ResponsesRidge<Loss>& ridge_;
    std::vector<double> penalty_;
};

}  // namespace zeronorm

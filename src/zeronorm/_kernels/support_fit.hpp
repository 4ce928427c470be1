// Fits of supports, columns of a pool, as exchanges ask for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ridge.hpp"

namespace zeronorm {

// A support with its fit. Coefficients are column by column, margins output by output.
struct SupportFit {
    std::vector<std::int64_t> columns;  // sorted
    std::vector<double> coef, margins, dual, scores;
    RidgeAnswer answer{};
};

// The ridge problem of one output on some columns of a pool.
template <class Loss>
class OneOutput {
  public:
    OneOutput(const Risk<Loss>& risk, bool intercept) : risk_(risk), intercept_(intercept) {}
    std::int64_t n() const { return risk_.n(); }
    std::int64_t n_rows() const { return risk_.n_rows(); }
    std::int64_t outputs() const { return 1; }

    // Supports have m columns from here on.
    void begin(std::int64_t m) {
        penalty_.assign(static_cast<std::size_t>(m), 1.0);
        solver_.emplace(risk_, intercept_, m, penalty_.data());
    }
    // Solves the problem from the coefficients and the intercept of `found`, z the pool.
    void fit(const double* z, double tol, double cutoff, SupportFit& found) {
        solver_->choose(z, 1, n_rows(), found.columns.data());
        found.answer = solver_->solve(found.answer.intercept, tol, true, cutoff, found.coef.data(),
                                      found.margins.data(), found.dual.data(), found.scores.data());
    }
    // The loss at margins; v <- minus its gradient, and its second derivatives in the margins.
    double evaluate(const double* margins, double* v, double* curvature) {
        return risk_.evaluate(margins, 0.0, v, curvature).value;
    }

  private:
    const Risk<Loss>& risk_;
    bool intercept_;
    std::vector<double> penalty_;
    std::optional<RidgeSolver<Loss>> solver_;
};

}  // namespace zeronorm

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

// Ridge problems on m columns of a pool, for rows with padding in some outputs.
class SupportProblem {
  public:
    SupportProblem(std::int64_t n, std::int64_t n_rows, std::int64_t outputs)
        : n_(n), n_rows_(n_rows), q_(outputs) {}
    virtual ~SupportProblem() = default;
    std::int64_t n() const { return n_; }
    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t outputs() const { return q_; }

    // Supports have m columns from here on.
    virtual void begin(std::int64_t m) { penalty_.assign(static_cast<std::size_t>(m * q_), 1.0); }
    // Solves the problem from the coefficients and the intercept of `found`, z the pool.
    virtual void fit(const double* z, double tol, double cutoff, SupportFit& found) = 0;
    // The loss at margins; v <- minus its gradient, and its second derivatives in the margins.
    virtual double evaluate(const double* margins, double* v, double* curvature) = 0;

  protected:
    std::int64_t n_, n_rows_, q_;
    std::vector<double> penalty_;
};

// Those of one output.
class OneOutput final : public SupportProblem {
  public:
    OneOutput(const Risk& risk, bool intercept)
        : SupportProblem(risk.n(), risk.n_rows(), 1), risk_(risk), intercept_(intercept) {}

    void begin(std::int64_t m) override {
        SupportProblem::begin(m);
        solver_.emplace(risk_, intercept_, m, penalty_.data());
    }
    void fit(const double* z, double tol, double cutoff, SupportFit& found) override {
        solver_->choose(z, 1, n_rows_, found.columns.data());
        found.answer = solver_->solve(found.answer.intercept, tol, true, cutoff, found.coef.data(),
                                      found.margins.data(), found.dual.data(), found.scores.data());
    }
    double evaluate(const double* margins, double* v, double* curvature) override {
        return risk_.evaluate(margins, 0.0, v, curvature).value;
    }

  private:
    const Risk& risk_;
    bool intercept_;
    std::optional<RidgeSolver<>> solver_;
};

}  // namespace zeronorm

// The ridge problems of several outputs on some columns of a pool.
#pragma once

#include <cstdint>

#include "outputs.hpp"
#include "support_fit.hpp"

namespace zeronorm {

// The classes of a multinomial model.
class SharedClasses final : public SupportProblem {
  public:
    explicit SharedClasses(MultinomialRisk& risk)
        : SupportProblem(risk.n(), risk.n_rows(), risk.outputs()), risk_(risk) {}

    void fit(const double* z, double tol, double cutoff, SupportFit& found) override {
        risk_.restart();
        SharedColumns columns(z, 1, n_rows(), n(), found.columns.data(),
                              static_cast<std::int64_t>(found.columns.size()));
        MultinomialRidge solver(risk_, columns, penalty_.data());
        found.answer = solver.solve(tol, true, cutoff, found.coef.data(), found.margins.data(),
                                    found.dual.data(), n_rows(), found.scores.data());
    }

    double evaluate(const double* margins, double* v, double* curvature) override {
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
};

// Responses.
class SharedResponses final : public SupportProblem {
  public:
    explicit SharedResponses(const ResponsesRidge& ridge)
        : SupportProblem(ridge.n(), ridge.n_rows(), ridge.outputs()), ridge_(ridge) {}

    void fit(const double* z, double tol, double, SupportFit& found) override {
        found.answer = ridge_.solve(
            z, 1, n_rows(), found.columns.data(), static_cast<std::int64_t>(found.columns.size()),
            penalty_.data(), tol, true, found.coef.data(), found.margins.data(), found.dual.data(),
            n_rows(), found.scores.data());
    }

    double evaluate(const double* margins, double* v, double* curvature) override {
        return ridge_.evaluate(margins, v, curvature);
    }

  private:
    const ResponsesRidge& ridge_;
};

}  // namespace zeronorm

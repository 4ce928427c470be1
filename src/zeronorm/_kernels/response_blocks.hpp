// Compiled solver: the problem over blocks of features that responses share, by least squares.
//
//     min_{lambda in simplex} min_u  1/2 sum_jo u_jo^2 / (E lambda)_j + 1/2 sum_io s_i (y_io -
//     z_i'u_o)^2
//
// at the best intercepts where there are any. Its model is the problem itself, in G = Z'SZ and
// B = Z'SY of centred columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "block_model.hpp"
#include "ridge.hpp"
#include "shared_columns.hpp"

namespace zeronorm {

class ResponseBlocks {
  public:
    // y: (q n,). weight: (n,), of every output. membership: (m q, T), the same for all outputs of a
    // feature.
    ResponseBlocks(SharedColumns& columns, const double* y, const double* weight, std::int64_t n,
                   std::int64_t q, bool is_free, const double* membership, std::int64_t T)
        : columns_(columns), y_(y), weight_(weight), n_(n), q_(q), T_(T), is_free_(is_free) {
        for (std::int64_t j = 0; j < m_; ++j)
            std::copy_n(membership + j * q * T, T, E_ + j * T);
        set_products();
    }

    // u (m q,), lambda (T,): the start, then the solution. dual (q n,): of the last point.
    BlockAnswer solve(double tol, double scale, double* u, double* lambda, double* dual,
                      const BlockHistory& history) {
        lambda_ = lambda;
        for (std::int64_t k = 0; k < p_; ++k)
            u_[k] = u[k % m_ * q_ + k / m_];
        const BlockAnswer answer = solve_blocks(*this, tol, scale, history);
        for (std::int64_t k = 0; k < p_; ++k)
            u[k % m_ * q_ + k / m_] = u_[k];
        set_dual(u, dual);
        return answer;
    }

    std::pair<double, double> assess() {
        const double loss = loss_at(u_);
        double fitted = 0.0;
        for (std::int64_t k = 0; k < p_; ++k) {
            scores_[k] = B_[k] - image_[k];
            fitted += B_[k] * u_[k];
        }
        // With v = s r the conjugate at -c v is c^2 loss - c v'y, and v'y what is left of y'Sy.
        const double along = square_ - fitted, worst = model_.largest_block(scores_);
        const double bend = 2.0 * (loss + worst), c = bend > 0.0 ? along / bend : 1.0;
        return {loss + model_.penalty(u_, lambda_), c * along - c * (c * (loss + worst))};
    }

    bool move(double objective, double tol) {
        model_.minimise(lambda_, tol, u_, scores_);
        double step = 1.0;
        for (int halving = 0; halving < kMaxHalvings; ++halving, step *= 0.5) {
            for (std::int64_t k = 0; k < p_; ++k)
                goal_[k] = u_[k] + step * (model_.goal()[k] - u_[k]);
            for (std::int64_t t = 0; t < T_; ++t)
                trial_[t] = lambda_[t] + step * (model_.weights()[t] - lambda_[t]);
            const double found = loss_at(goal_) + model_.penalty(goal_, trial_);
            // Near the optimum the objective is flat to rounding while the gap still falls.
            if (found <= objective + kSameObjective * std::abs(objective)) {
                std::copy_n(static_cast<double*>(goal_), p_, static_cast<double*>(u_));
                std::copy_n(static_cast<double*>(trial_), T_, lambda_);
                return true;
            }
        }
        return false;
    }

  private:
    // The loss of coefficients; image_ <- G u.
    double loss_at(const double* u) {
        model_.multiply(u, image_);
        double value = square_;
        for (std::int64_t k = 0; k < p_; ++k)
            value += u[k] * (image_[k] - 2.0 * B_[k]);
        return std::max(0.5 * value, 0.0);
    }

    // The matrix of the model, B_ and y'Sy of centred columns and responses.
    void set_products() {
        const std::int64_t width = columns_.width(), n_rows = whole(n_, kLine);
        const Buffer bend(n_rows), gram(width * width), weighted(q_ * n_rows), cross(m_ * q_);
        std::copy_n(weight_, n_, static_cast<double*>(bend));
        columns_.gram(bend, gram);
        double* const G = model_.matrix();
        for (std::int64_t a = 0; a < m_; ++a)
            for (std::int64_t b = a; b < m_; ++b) {
                double entry = gram[a * width + b];
                if (is_free_)
                    entry -= gram[a * width + m_] * (gram[b * width + m_] / gram[m_ * width + m_]);
                G[a * model_.width() + b] = G[b * model_.width() + a] = entry;
            }
        for (std::int64_t o = 0; o < q_; ++o) {
            double mean = 0.0;
            for (std::int64_t i = 0; is_free_ && i < n_; ++i)
                mean += weight_[i] * y_[o * n_ + i];
            if (is_free_) mean /= gram[m_ * width + m_];
            for (std::int64_t i = 0; i < n_; ++i) {
                const double rest = y_[o * n_ + i] - mean;
                weighted[o * n_rows + i] = weight_[i] * rest;
                square_ += weight_[i] * rest * rest;
            }
        }
        columns_.dot(weighted, q_, cross);
        for (std::int64_t k = 0; k < p_; ++k)
            B_[k] = cross[k % m_ * q_ + k / m_];
    }

    // dual <- s (y - z'u - b) at the best b of every response.
    void set_dual(const double* u, double* dual) {
        const std::int64_t n_rows = whole(n_, kLine);
        const Buffer margins(q_ * n_rows);
        columns_.times(u, q_, margins);
        for (std::int64_t o = 0; o < q_; ++o) {
            double total = 0.0, sum = 0.0;
            for (std::int64_t i = 0; i < n_; ++i) {
                total += weight_[i];
                sum += weight_[i] * (y_[o * n_ + i] - margins[o * n_rows + i]);
            }
            const double b = is_free_ ? sum / total : 0.0;
            for (std::int64_t i = 0; i < n_; ++i)
                dual[o * n_ + i] = weight_[i] * (y_[o * n_ + i] - margins[o * n_rows + i] - b);
        }
    }

    SharedColumns& columns_;
    const double *y_, *weight_;
    std::int64_t n_, q_, T_, m_ = columns_.m(), p_ = m_ * q_;
    bool is_free_;
    double square_ = 0.0, *lambda_ = nullptr;
    // Of every output one after the other.
    Buffer E_{m_ * T_}, u_{p_}, goal_{p_}, scores_{p_}, image_{p_}, B_{p_}, trial_{T_};
    BlockModel model_{m_, T_, E_, q_};
};

}  // namespace zeronorm

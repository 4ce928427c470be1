// The program over the cuts of a measure and the blocks of features found so far.
//
//     max  delta'alpha - max_t 1/2 alpha'G_t alpha   over alpha >= 0, sum alpha <= C, g'alpha = 0
//
// A primal-dual interior point with a predictor and a corrector. The quadratic constraints
// 1/2 a'G_t a <= theta have slacks that are variables of their own, and the second order of both
// steps is in the corrector.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "cholesky.hpp"
#include "parallel.hpp"

namespace zeronorm {

struct CutAnswer {
    double bound, value, intercept;
    std::int64_t n_steps;
};

class CutProgram {
  public:
    static constexpr int kMaxSteps = 100;

    // grams: (n_blocks, n_cuts, n_cuts), symmetric.
    CutProgram(const double* grams, const double* delta, const double* g, std::int64_t n_blocks,
               std::int64_t n_cuts, double C)
        : T_(n_blocks),
          K_(n_cuts),
          C_(C),
          G_(grams),
          d_(delta, delta + n_cuts),
          e_(g, g + n_cuts) {}

    CutAnswer solve(double tol, double* alpha, double* block_weight) {
        std::fill_n(alpha, K_, 0.0);
        std::fill_n(block_weight, T_, 1.0 / static_cast<double>(T_));
        const double unit = *std::max_element(d_.begin(), d_.end());
        if (!(unit > 0.0)) return {0.0, 0.0, 0.0, 0};
        const double size = start(unit);
        double best = std::numeric_limits<double>::infinity();
        CutAnswer answer{0.0, 0.0, 0.0, 0};
        for (;;) {
            const Values values = measure();
            if (values.high - values.low < best) {
                best = values.high - values.low;
                answer.bound = values.low;
                answer.value = values.high;
                answer.intercept = b_;
                std::copy_n(a_.data(), K_, alpha);
                std::copy_n(mu_.data(), T_, block_weight);
            }
            if (best <= tol * answer.value || answer.n_steps == kMaxSteps) break;
            if (!advance()) break;
            ++answer.n_steps;
        }
        for (std::int64_t k = 0; k < K_; ++k)
            alpha[k] *= ray_;
        answer.bound *= ray_ * unit;
        answer.value *= ray_ * unit;
        answer.intercept = equality_ ? answer.intercept * unit / size : 0.0;
        return answer;
    }

  private:
    using Vector = std::vector<double>;
    struct Values {
        double low, high;
    };
    // Right-hand sides of the products, what the second order adds to the gradient, and the step.
    struct Step {
        Vector s_z, s_mu, extra, a, z, mu, slack;
        double s_room = 0.0, theta = 0.0, z_sum = 0.0, b = 0.0, sum = 0.0;
    };

    std::int64_t T_, K_;
    double C_;
    const double* G_;
    Vector d_, e_;
    bool equality_ = false;
    double scale_ = 1.0, ray_ = 1.0,
           most_ = 1.0;  // of the matrices; of alpha; the largest sum of a
    double theta_ = 0.0, z_sum_ = 0.0, b_ = 0.0, room_ = 0.0;
    Vector a_, z_, mu_, slack_, q_, quadratic_, residual_, offset_, matrix_, factor_, ratio_, mean_,
        across_, turned_, curve_;
    double ratios_ = 0.0, bend_ = 0.0;
    Step step_;

    static Vector zeros(std::int64_t n) { return Vector(static_cast<std::size_t>(n)); }
    static double dot(const double* x, const double* y, std::int64_t n) {
        return std::inner_product(x, x + n, y, 0.0);
    }

    // out <- G_t x for every block, (T, K), on the scale of a.
    void multiply(const Vector& x, Vector& out) const {
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            const double* row = G_;
            for (std::int64_t i = 0; i < T_ * K_; ++i, row += K_) {
                double sums[4] = {};
                std::int64_t k = 0;
                for (; k + 4 <= K_; k += 4)
                    for (int lane = 0; lane < 4; ++lane)
                        sums[lane] += row[k + lane] * x[static_cast<std::size_t>(k + lane)];
                for (; k < K_; ++k)
                    sums[0] += row[k] * x[static_cast<std::size_t>(k)];
                out[static_cast<std::size_t>(i)] =
                    scale_ * ((sums[0] + sums[2]) + (sums[1] + sums[3]));
            }
        };
        run_block(kernel, 0);
    }

    const double* q(std::int64_t t) const { return q_.data() + t * K_; }

    // Puts the start; returns max |g|.
    double start(double unit) {
        double size = 0.0;
        for (const double g : e_)
            size = std::max(size, std::abs(g));
        equality_ = size > 0.0;
        a_.assign(static_cast<std::size_t>(K_), 1.0);
        if (equality_) {
            double up = 0.0, down = 0.0;
            for (double& g : e_) {
                g /= size;
                (g > 0.0 ? up : down) += std::abs(g);
            }
            for (std::size_t k = 0; k < e_.size(); ++k) {
                if (e_[k] > 0.0) a_[k] = std::min(1.0, down / up);
                if (e_[k] < 0.0) a_[k] = std::min(1.0, up / down);
            }
        }
        const double total = std::accumulate(a_.begin(), a_.end(), 0.0);
        for (double& x : a_)
            x /= total;
        q_ = zeros(T_ * K_);
        multiply(a_, q_);
        double largest = 0.0;
        for (std::int64_t t = 0; t < T_; ++t)
            largest = std::max(largest, 0.5 * dot(q(t), a_.data(), K_) / unit);
        for (double& x : d_)
            x /= unit;
        const double linear = dot(d_.data(), a_.data(), K_);
        // In units of the alpha that is best along this ray: then nothing is far from 1.
        ray_ = C_;
        if (linear > 0.0 && 2.0 * largest * C_ > linear) ray_ = linear / (2.0 * largest);
        scale_ = ray_ / unit;
        most_ = C_ / ray_;
        for (double& x : a_)
            x *= 0.5;
        multiply(a_, q_);
        const double product = 0.5 / static_cast<double>(K_);
        quadratic_ = zeros(T_);
        mu_ = slack_ = offset_ = ratio_ = curve_ = zeros(T_);
        theta_ = 0.0;
        for (std::int64_t t = 0; t < T_; ++t)
            theta_ = std::max(theta_, 0.5 * dot(q(t), a_.data(), K_));
        theta_ += product * static_cast<double>(T_);
        double weights = 0.0;
        for (std::int64_t t = 0; t < T_; ++t) {
            const auto i = static_cast<std::size_t>(t);
            slack_[i] = theta_ - 0.5 * dot(q(t), a_.data(), K_);
            mu_[i] = 1.0 / slack_[i];
            weights += mu_[i];
        }
        for (double& x : mu_)
            x /= weights;
        z_ = residual_ = mean_ = across_ = zeros(K_);
        // Dual feasible: the residual stays at rounding, however far alpha has to go.
        double worst = 0.0;
        for (std::int64_t k = 0; k < K_; ++k) {
            const auto i = static_cast<std::size_t>(k);
            residual_[i] = d_[i];
            for (std::int64_t t = 0; t < T_; ++t)
                residual_[i] -= mu_[static_cast<std::size_t>(t)] * q(t)[k];
            worst = std::max(worst, residual_[i]);
        }
        z_sum_ = worst + 1.0;
        for (std::size_t k = 0; k < z_.size(); ++k)
            z_[k] = z_sum_ - residual_[k];
        room_ = most_ - std::accumulate(a_.begin(), a_.end(), 0.0);
        b_ = 0.0;
        matrix_ = factor_ = zeros(K_ * K_);
        turned_ = zeros(T_ * K_);
        step_ = Step{z_, mu_, z_, z_, z_, mu_, mu_};
        return size;
    }

    // Fills what depends on the point; returns the bound and the value it stands for.
    Values measure() {
        residual_.assign(d_.size(), 0.0);
        double root = 0.0, largest = 0.0;
        for (std::int64_t t = 0; t < T_; ++t) {
            const auto i = static_cast<std::size_t>(t);
            quadratic_[i] = std::max(0.0, 0.5 * dot(q(t), a_.data(), K_));
            largest = std::max(largest, quadratic_[i]);
            root += mu_[i] * std::sqrt(2.0 * quadratic_[i]);
            offset_[i] = quadratic_[i] - theta_ + slack_[i];
            for (std::int64_t k = 0; k < K_; ++k)
                residual_[static_cast<std::size_t>(k)] += mu_[i] * q(t)[k];
        }
        double violated = 0.0;
        for (std::size_t k = 0; k < d_.size(); ++k) {
            const double rest = d_[k] - residual_[k] - b_ * e_[k];
            violated = std::max(violated, rest);
            residual_[k] = z_sum_ - z_[k] - rest;
        }
        room_ = most_ - std::accumulate(a_.begin(), a_.end(), 0.0);
        return {dot(d_.data(), a_.data(), K_) - largest, 0.5 * root * root + most_ * violated};
    }

    // Puts the matrix of a Newton step and its factor.
    void factorise() {
        ratios_ = 0.0;
        std::fill(mean_.begin(), mean_.end(), 0.0);
        for (std::int64_t t = 0; t < T_; ++t) {
            const auto i = static_cast<std::size_t>(t);
            ratio_[i] = mu_[i] / slack_[i];
            ratios_ += ratio_[i];
            for (std::int64_t k = 0; k < K_; ++k)
                mean_[static_cast<std::size_t>(k)] += ratio_[i] * q(t)[k];
        }
        for (double& x : mean_)
            x /= ratios_;
        const double share = z_sum_ / room_;
        Vector away = zeros(K_);
        std::fill(matrix_.begin(), matrix_.end(), share);
        for (std::int64_t t = 0; t < T_; ++t) {
            const auto i = static_cast<std::size_t>(t);
            for (std::int64_t k = 0; k < K_; ++k)
                away[static_cast<std::size_t>(k)] = q(t)[k] - mean_[static_cast<std::size_t>(k)];
            const double* gram = G_ + t * K_ * K_;
            const double weight = scale_ * mu_[i];
            const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
                const double* const from = away.data();
                for (std::int64_t k = 0; k < K_; ++k) {  // the upper triangle is all that is read
                    double* const row = matrix_.data() + k * K_;
                    const double* const line = gram + k * K_;
                    const double multiple = ratio_[i] * from[k];
                    for (std::int64_t l = k; l < K_; ++l)
                        row[l] += weight * line[l] + multiple * from[l];
                }
            };
            run_block(kernel, 0);
        }
        for (std::size_t k = 0; k < z_.size(); ++k) {
            double& entry = matrix_[k * z_.size() + k];
            entry += z_[k] / a_[k];
            entry += 1e-15 * entry;
        }
        cholesky(matrix_.data(), K_, K_, factor_.data());
        if (!equality_) return;
        across_ = e_;
        solve_factored(factor_.data(), K_, K_, across_.data());
        bend_ = dot(e_.data(), across_.data(), K_);
    }

    // Solves for the step of the right-hand sides in `s`; `shift` is the second order of the
    // blocks.
    void newton(Step& s, const Vector& shift) const {
        Vector pull = zeros(T_);
        double pulls = std::accumulate(mu_.begin(), mu_.end(), 0.0) - 1.0;  // what rounding took
        for (std::size_t t = 0; t < pull.size(); ++t) {
            pull[t] = s.s_mu[t] / slack_[t] + ratio_[t] * (offset_[t] + shift[t]);
            pulls += pull[t];
        }
        for (std::size_t k = 0; k < s.a.size(); ++k)
            s.a[k] =
                -residual_[k] - s.extra[k] + s.s_z[k] / a_[k] - s.s_room / room_ + mean_[k] * pulls;
        for (std::int64_t t = 0; t < T_; ++t)
            for (std::int64_t k = 0; k < K_; ++k)
                s.a[static_cast<std::size_t>(k)] -= pull[static_cast<std::size_t>(t)] * q(t)[k];
        solve_factored(factor_.data(), K_, K_, s.a.data());
        s.b = 0.0;
        if (equality_) {
            s.b = (dot(e_.data(), s.a.data(), K_) + dot(e_.data(), a_.data(), K_)) / bend_;
            for (std::size_t k = 0; k < s.a.size(); ++k)
                s.a[k] -= s.b * across_[k];
        }
        s.sum = std::accumulate(s.a.begin(), s.a.end(), 0.0);
        s.theta = pulls / ratios_ + dot(mean_.data(), s.a.data(), K_);
        for (std::size_t k = 0; k < s.a.size(); ++k)
            s.z[k] = (s.s_z[k] - z_[k] * s.a[k]) / a_[k];
        s.z_sum = (s.s_room + z_sum_ * s.sum) / room_;
        for (std::int64_t t = 0; t < T_; ++t) {
            const auto i = static_cast<std::size_t>(t);
            const double linear = s.theta - dot(q(t), s.a.data(), K_);
            s.mu[i] = pull[i] - ratio_[i] * linear;
            s.slack[i] = linear - offset_[i] - shift[i];
        }
    }

    // Puts G_t da and half of da'G_t da.
    void bend(const Step& s) {
        multiply(s.a, turned_);
        for (std::int64_t t = 0; t < T_; ++t)
            curve_[static_cast<std::size_t>(t)] =
                0.5 * dot(turned_.data() + t * K_, s.a.data(), K_);
    }

    // Returns the largest step, at most 1, that leaves 1 - share of every slack and multiplier.
    double length(const Step& s, double share) const {
        double eta = 1.0;
        const auto limit = [&](double x, double dx) {
            if (dx < 0.0) eta = std::min(eta, -share * x / dx);
        };
        for (std::size_t k = 0; k < a_.size(); ++k) {
            limit(a_[k], s.a[k]);
            limit(z_[k], s.z[k]);
        }
        for (std::size_t t = 0; t < mu_.size(); ++t) {
            limit(mu_[t], s.mu[t]);
            limit(slack_[t], s.slack[t]);
        }
        limit(room_, -s.sum);
        limit(z_sum_, s.z_sum);
        return eta;
    }

    // Takes one step; returns false where rounding has made an end of it.
    bool advance() {
        try {
            factorise();
        } catch (const NotFinite&) {
            return false;
        }
        Step& s = step_;
        const double mean =
            (dot(z_.data(), a_.data(), K_) + z_sum_ * room_ + dot(mu_.data(), slack_.data(), T_)) /
            static_cast<double>(K_ + T_ + 1);
        const Vector nothing = zeros(T_);
        for (std::size_t k = 0; k < z_.size(); ++k) {
            s.s_z[k] = -z_[k] * a_[k];
            s.extra[k] = 0.0;
        }
        for (std::size_t t = 0; t < mu_.size(); ++t)
            s.s_mu[t] = -mu_[t] * slack_[t];
        s.s_room = -z_sum_ * room_;
        newton(s, nothing);
        bend(s);
        const double eta = length(s, 1.0);
        const double target = std::clamp((1.0 - 0.95 * eta) * (1.0 - 0.95 * eta), 1e-3, 0.9) * mean;
        const double square = eta * eta;
        std::fill(s.extra.begin(), s.extra.end(), 0.0);
        Vector shift = curve_;
        for (std::int64_t t = 0; t < T_; ++t) {
            const auto i = static_cast<std::size_t>(t);
            for (std::int64_t k = 0; k < K_; ++k)
                s.extra[static_cast<std::size_t>(k)] +=
                    square * s.mu[i] * turned_[static_cast<std::size_t>(t * K_ + k)];
            s.s_mu[i] = target - mu_[i] * slack_[i] - square * s.mu[i] * (s.slack[i] - curve_[i]);
            shift[i] *= square;
        }
        for (std::size_t k = 0; k < z_.size(); ++k)
            s.s_z[k] = target - z_[k] * a_[k] - square * s.a[k] * s.z[k];
        s.s_room = target - z_sum_ * room_ + square * s.sum * s.z_sum;
        newton(s, shift);
        multiply(s.a, turned_);
        const double step = length(s, std::clamp(1.0 - mean, 0.9, 0.995));
        for (std::size_t k = 0; k < a_.size(); ++k) {
            a_[k] += step * s.a[k];
            z_[k] += step * s.z[k];
        }
        for (std::size_t t = 0; t < mu_.size(); ++t) {
            mu_[t] += step * s.mu[t];
            slack_[t] += step * s.slack[t];
        }
        theta_ += step * s.theta;
        z_sum_ += step * s.z_sum;
        b_ += step * s.b;
        bool finite = true;
        for (std::size_t i = 0; i < q_.size(); ++i) {
            q_[i] += step * turned_[i];
            finite = finite && std::isfinite(q_[i]);
        }
        return finite;
    }
};

}  // namespace zeronorm

// The policy under which Boost.Math throws nothing. A tail probability that underflows becomes 0, which is what the
// callers mean. To include this header, link blink_boost.
#ifndef BLINK_COMMON_BASE_QUIET_MATH_H_
#define BLINK_COMMON_BASE_QUIET_MATH_H_

#include <boost/math/policies/policy.hpp>

namespace blink {

using QuietMath =
    boost::math::policies::policy<boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::pole_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::underflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::denorm_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

}  // namespace blink

#endif  // BLINK_COMMON_BASE_QUIET_MATH_H_

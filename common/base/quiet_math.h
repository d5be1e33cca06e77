// The policy under which Boost.Math throws nothing: an underflow is a tail of 0, which is what it means. Whoever
// includes this links blink_boost_math.
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

// Boost.Asio's own code, compiled here and nowhere else.

#include <boost/asio/impl/src.hpp>

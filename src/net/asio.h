// The one place that names Boost.Asio's types: sockets and timers on the concrete executor.
//
// WHY concrete: the type-erased any_io_executor costs about 3 % of an HTTP server's throughput.
// Asio is compiled once, in asio.cc (BOOST_ASIO_SEPARATE_COMPILATION).

#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <chrono>

namespace weir::net {

namespace asio = boost::asio;

using SystemError = boost::system::error_code;
using Executor = asio::io_context::executor_type;
using Tcp = asio::ip::tcp;
using Endpoint = Tcp::endpoint;
using TcpSocket = asio::basic_stream_socket<Tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<Tcp, Executor>;
using TcpResolver = asio::ip::basic_resolver<Tcp, Executor>;
using SteadyTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, Executor>;

}  // namespace weir::net

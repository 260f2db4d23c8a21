/**
 * Networks of test servers: ports, proxies that delay, swallow and reset, and wrong ports.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.server.network;

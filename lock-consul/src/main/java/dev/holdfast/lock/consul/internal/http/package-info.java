/**
 * Requests to Consul: the HTTP client, its limits, and what a failure means.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.consul.internal.http;

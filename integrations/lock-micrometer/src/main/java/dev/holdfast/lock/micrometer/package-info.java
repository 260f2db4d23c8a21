/**
 * Meters and observations of locks. {@link dev.holdfast.lock.micrometer.LockMetrics} binds a client to a registry;
 * {@link dev.holdfast.lock.micrometer.LockObservation} is one guarded call as a trace shows it. The jar has a dashboard for
 * Grafana and alert rules for Prometheus next to these classes ({@code grafana-dashboard.json}, {@code prometheus-alerts.yml}).
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.micrometer;

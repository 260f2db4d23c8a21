package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spring.LockTemplate;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.UnsatisfiedDependencyException;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.convert.ConversionException;
import org.springframework.util.StringUtils;

/** Shows without a stack what the store said, which property the library refuses, or which clients there are to choose from. */
@Order(Ordered.HIGHEST_PRECEDENCE + 10)
final class HoldfastFailureAnalyzer implements FailureAnalyzer {
    private static final ConfigurationPropertyName HOLDFAST = ConfigurationPropertyName.of("holdfast");
    private static final String LOCKED = "@Locked cannot work at ";

    @Override
    public @Nullable FailureAnalysis analyze(Throwable failure) {
        for (Throwable at = failure; at != null; at = at.getCause()) {
            FailureAnalysis analysis = analysisOf(at, failure);
            if (analysis != null) {
                return analysis;
            }
        }
        return null;
    }

    private static @Nullable FailureAnalysis analysisOf(Throwable cause, Throwable failure) {
        if (cause instanceof RefusedConfigurationException refused) {
            return new FailureAnalysis(refused.description(), refused.action(), refused);
        }
        if (cause instanceof BindException bind && HOLDFAST.isAncestorOf(bind.getName())) {
            return notConverted(bind);
        }
        if (cause instanceof LockConfigurationException) {
            return new FailureAnalysis(
                    "The lock store refuses the application: " + cause.getMessage(),
                    "Do what the description says. A missing table of a database: run its statement, or set"
                            + " holdfast.jdbc.initialize-schema=always.",
                    cause);
        }
        if (cause instanceof LockUnavailableException) {
            return new FailureAnalysis(
                    "The lock store cannot be reached: " + cause.getMessage(),
                    "Check that it runs and that holdfast.uri, or the address of the application's own connection, leads to"
                            + " it.",
                    cause);
        }
        if (cause instanceof NoSuchBeanDefinitionException missing && missing.getBeanType() == LockTemplate.class) {
            return new FailureAnalysis(
                    place(failure)
                            + " needs a LockTemplate. The starter makes one for the only or primary lock client, and there"
                            + " are several, or none.",
                    "Mark one LockClient @Primary, or define the template: new LockTemplate(client).",
                    cause);
        }
        if (cause instanceof NoUniqueBeanDefinitionException several && several.getBeanType() == LockClient.class) {
            return new FailureAnalysis(
                    place(failure) + " needs a lock client, and there are several: "
                            + StringUtils.collectionToCommaDelimitedString(several.getBeanNamesFound()) + ".",
                    "Name one where it is injected, with @Qualifier, or in the annotation, as @Locked(client = …); or mark"
                            + " one @Primary.",
                    cause);
        }
        return null;
    }

    /** Returns null if a value is not to blame, but an unknown property. */
    private static @Nullable FailureAnalysis notConverted(BindException bind) {
        ConfigurationProperty property = bind.getProperty();
        Class<?> type = bind.getTarget().getType().resolve();
        if (type == null || !(bind.getCause() instanceof ConversionException)) {
            return null;
        }
        Object value = property == null ? null : property.getValue(); // Spring has none where a group should be
        RefusedConfigurationException refused =
                RefusedConfigurationException.of(bind.getName().toString(), value, type, bind.getCause());
        String from = property == null || property.getOrigin() == null
                ? ""
                : " It was read from " + property.getOrigin() + ".";
        return new FailureAnalysis(refused.description() + from, refused.action(), bind);
    }

    private static String place(Throwable failure) {
        String place = "The application";
        for (Throwable at = failure; at != null; at = at.getCause()) {
            String message = String.valueOf(at.getMessage());
            if (message.startsWith(LOCKED)) {
                place = "@Locked at " + message.substring(LOCKED.length(), message.indexOf(": "));
            } else if (at instanceof UnsatisfiedDependencyException dependency) {
                place = "The bean '" + dependency.getBeanName() + "'";
            }
        }
        return place;
    }
}

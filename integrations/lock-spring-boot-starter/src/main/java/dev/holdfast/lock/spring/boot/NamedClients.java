package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.NamedLockOptions;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Defines a client for each entry of {@code holdfast.clients}. The name of the entry is its qualifier; its bean is called {@code
 * ordersLockClient} if that is {@code orders}. Beside a client without a name, which {@code holdfast.uri} or {@code
 * holdfast.backend} asks for, they are injected by qualifier only.
 */
final class NamedClients implements ImportBeanDefinitionRegistrar {
    private final Environment environment;

    NamedClients(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        boolean byQualifierOnly = isOneWithoutNameSet(environment);
        for (String name : names(environment)) {
            RootBeanDefinition definition = new RootBeanDefinition(NamedClients.class);
            definition.setTargetType(LockClient.class);
            definition.setUniqueFactoryMethodName("client");
            definition.setAutowireMode(AbstractBeanDefinition.AUTOWIRE_CONSTRUCTOR);
            definition.setDestroyMethodName(AbstractBeanDefinition.INFER_METHOD);
            definition.getConstructorArgumentValues().addIndexedArgumentValue(0, name);
            definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, name));
            definition.setDefaultCandidate(!byQualifierOnly);
            registry.registerBeanDefinition(beanName(name), definition);
        }
    }

    static LockClient client(
            String name,
            HoldfastProperties properties,
            LockClientOptions options,
            NamedLockOptions named,
            ObjectProvider<BackendCandidates.DatabaseReady> ready) {
        String prefix = "holdfast.clients." + name;
        HoldfastProperties.Client client = properties.clients().get(name);
        String uri = client == null ? null : client.uri();
        if (client == null || uri == null) {
            throw new RefusedConfigurationException(
                    "The lock client '" + name + "' has no address.", "Set " + prefix + ".uri.");
        }
        HoldfastAutoConfiguration.awaitMigrations(uri, ready);
        return StoreChoice.open(
                prefix + ".uri",
                uri,
                prefix + ".lock",
                OptionsOfProperties.client(prefix, client, options, named.defaults()));
    }

    /** Returns the name of a client's bean. */
    static String beanName(String name) {
        return name + "LockClient";
    }

    private static Set<String> names(Environment environment) {
        return new TreeSet<>(Binder.get(environment)
                .bind("holdfast.clients", Bindable.mapOf(String.class, Object.class))
                .orElse(Map.of())
                .keySet());
    }

    private static boolean isOneWithoutNameSet(Environment environment) {
        return environment.containsProperty("holdfast.uri") || environment.containsProperty("holdfast.backend");
    }

    /** A client without a name is made if there are none with names, or if its store is named too. */
    static final class LeaveOneWithoutName extends SpringBootCondition {
        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            Set<String> names = names(context.getEnvironment());
            ConditionMessage.Builder message = ConditionMessage.forCondition("Lock client without a name");
            if (names.isEmpty()) {
                return ConditionOutcome.match(message.because("holdfast.clients is not set"));
            }
            return isOneWithoutNameSet(context.getEnvironment())
                    ? ConditionOutcome.match(message.because("holdfast.uri or holdfast.backend is set"))
                    : ConditionOutcome.noMatch(message.because("holdfast.clients has " + names
                            + ", and neither holdfast.uri nor holdfast.backend is set"));
        }
    }
}

package dev.holdfast.lock.engine.scarce;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Objects;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Loads the library again, with a call of {@link Scarcity#take} before each of its allocations: objects, arrays, lambdas, and
 * elements of collections. Class initializers are left alone: a class whose initializer fails can never be used.
 */
final class ScarceClasses extends ClassLoader {
    private static final String OURS = "dev.holdfast.lock.";
    private static final String POINT = Scarcity.class.getName().replace('.', '/');
    private static final Set<String> GROWING =
            Set.of("add", "addFirst", "addLast", "put", "putIfAbsent", "computeIfAbsent", "accumulateAndGet", "stream");

    ScarceClasses() {
        super(ScarceClasses.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(OURS) || name.equals(Scarcity.class.getName())) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? define(name) : loaded;
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        URL url = getParent().getResource(name.replace('.', '/') + ".class");
        if (url == null) {
            throw new ClassNotFoundException(name);
        }
        try (InputStream in = url.openStream()) {
            byte[] code = in.readAllBytes();
            byte[] made = url.getPath().contains("/test-classes/") ? code : scarce(code);
            return defineClass(name, made, 0, made.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    private static byte[] scarce(byte[] code) {
        ClassReader reader = new ClassReader(code);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String descriptor, String signature, String[] exceptions) {
                        MethodVisitor plain = Objects.requireNonNull(
                                super.visitMethod(access, name, descriptor, signature, exceptions));
                        return name.equals("<clinit>") ? plain : new Points(plain);
                    }
                },
                0);
        return writer.toByteArray();
    }

    private static final class Points extends MethodVisitor {
        Points(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        private void take() {
            super.visitMethodInsn(Opcodes.INVOKESTATIC, POINT, "take", "()V", false);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            super.visitTypeInsn(opcode, type);
            if (opcode == Opcodes.NEW || opcode == Opcodes.ANEWARRAY) { // behind it: frames name its place
                take();
            }
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            if (opcode == Opcodes.NEWARRAY) {
                take();
            }
            super.visitIntInsn(opcode, operand);
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            if (!descriptor.startsWith("()")) { // one that captures nothing exists once
                take();
            }
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            if (owner.startsWith("java/util/") && GROWING.contains(name)) {
                take();
            }
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }
    }
}

export { createSchemaCompiler, type SchemaCompilerOptions } from './schema-compiler.ts'

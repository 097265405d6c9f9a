export { type BuiltinSourceOptions, builtinNames, createBuiltinSource } from './builtin-source.ts'
export { type ClosableSource, createProjectSource, type ProjectSourceOptions } from './project-source.ts'

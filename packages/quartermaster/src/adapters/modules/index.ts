export { type BuiltinSourceOptions, createBuiltinSource } from './builtin-source.ts'
export { type ClosableSource, createProjectSource, type ProjectSourceOptions } from './project-source.ts'

export { type HttpOptions, http } from './http.ts'
export { type ProgramOptions, program } from './program.ts'
export { type TcpOptions, tcp } from './tcp.ts'
export { allOf, environment, type NamedOptions, type PathOptions, path, secret } from './values.ts'

export {
  allOf,
  environment,
  type HttpOptions,
  http,
  type NamedOptions,
  type PathOptions,
  type ProgramOptions,
  path,
  program,
  secret,
  type TcpOptions,
  tcp,
} from './adapters/probes/index.ts'

export { isOurProgram, leadsToUs } from './ourselves.ts'
export { CLIENT_SOURCES, type ClientSource, type ClientSurroundings } from './places.ts'
export { readClientConfigs } from './read-client-configs.ts'

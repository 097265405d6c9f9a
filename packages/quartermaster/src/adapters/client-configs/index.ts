export { isOurProgram, leadsToUs } from './ourselves.ts'
export { CLIENT_SOURCES, type ClientSource, type ClientSurroundings } from './places.ts'
export { isInside, readClientConfigs } from './read-client-configs.ts'

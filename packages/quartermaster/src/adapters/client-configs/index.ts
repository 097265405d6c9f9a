export { CLIENT_SOURCES, type ClientSource, type ClientSurroundings } from './places.ts'
export { isInside, readClientConfigs } from './read-client-configs.ts'
export { isOurProgram, leadsToUs } from './translate-entry.ts'

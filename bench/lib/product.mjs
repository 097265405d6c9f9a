// @ts-check
// The one place that knows where the built product is. Types come from the sources, so that checking needs no build.

/** @typedef {import('../../packages/quartermaster/src/app/bootstrap/build-core.ts').Core} Core */
/** @typedef {import('../../packages/quartermaster/src/app/bootstrap/build-core.ts').CorePorts} CorePorts */
/** @typedef {import('../../packages/quartermaster/src/core/catalogue/index.ts').SourceUnit} SourceUnit */
/** @typedef {import('../../packages/quartermaster/src/contracts/index.ts').AgentConfig} AgentConfig */

/** @param {string} file */
const built = file => import(new URL(`../../packages/quartermaster/dist/modules/${file}`, import.meta.url).href)

/** The public face: @type {typeof import('../../packages/quartermaster/src/index.ts')} */
export const product = await built('index.js')

/** @type {typeof import('../../packages/quartermaster/src/app/bootstrap/build-core.ts')} */
const { buildCore } = await built('app/bootstrap/build-core.js')
/** @type {typeof import('../../packages/quartermaster/src/contracts/index.ts')} */
const { DEFAULT_SETTINGS } = await built('contracts/index.js')
/** @type {typeof import('../../packages/quartermaster/src/adapters/json-schema/index.ts')} */
export const { createSchemaCompiler } = await built('adapters/json-schema/index.js')
/** @type {typeof import('../../packages/quartermaster/src/adapters/system/index.ts')} */
const { createIds, createSystemClock, sha256, silentLog, systemRandom } = await built('adapters/system/index.js')
/** @type {typeof import('../../packages/quartermaster/src/core/search/index.ts')} */
export const { createSearchIndex } = await built('core/search/index.js')
/** @type {typeof import('../../packages/quartermaster/src/core/knowledge/index.ts')} */
export const { searchDocument, unitEntry } = await built('core/knowledge/index.js')
/** @type {typeof import('../../packages/quartermaster/src/core/upstreams/index.ts')} */
export const { compareNames, otherNamesIn, scanDefinition } = await built('core/upstreams/index.js')

/** The built-in gateway view, as a unit of definitions. */
export async function gatewayUnit() {
  /** @type {typeof import('../../packages/quartermaster/src/core/catalogue/index.ts')} */
  const { collectDefinitions } = await built('core/catalogue/index.js')
  const { problems: _none, ...definitions } = collectDefinitions(
    await built('capabilities/gateway/index.js'),
    {},
    'gateway',
  )
  return { id: 'gateway', hash: 'gateway', definitions }
}

/**
 * A core with the product's own parts over definitions and agents in memory: what is measured is the registry, not the
 * reading of files.
 * @param {object} options
 * @param {readonly SourceUnit[]} options.units
 * @param {Record<string, AgentConfig>} [options.agents]
 * @param {Partial<CorePorts['settings']>} [options.settings]
 * @param {CorePorts['storage']} [options.storage]
 * @returns {Core}
 */
export function createCore({ units, agents = {}, settings = {}, storage = NO_STORE }) {
  const entries = Object.entries(agents).map(([name, config]) => ({
    name,
    file: `agents/${name}.json`,
    config,
    hash: name,
    problems: [],
  }))
  return buildCore({
    clock: createSystemClock(),
    ids: createIds(),
    random: systemRandom,
    digest: sha256,
    log: silentLog,
    compiler: createSchemaCompiler(),
    sources: [{ id: 'bench', kind: 'code', load: async () => units }],
    agentStore: { load: async () => entries },
    secrets: { get: () => undefined },
    patienceMs: 60_000,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    storage,
    dependencyOptions: () => ({}),
    folders: () => ({ agentDir: '/bench/agents', workspaceDir: '/bench' }),
    serverFactory: () => () => {
      throw new Error('Nothing here asks for a server.')
    },
  })
}

/** As in a program that only reads: nothing has to be written down. */
const NO_STORE = {
  open: async () => {
    throw new Error('Nothing here changes anything.')
  },
  current: () => undefined,
}

/**
 * The store of a folder, as `up` has it.
 * @param {string} dir
 * @returns {Promise<{ storage: CorePorts['storage'], close(): Promise<void> }>}
 */
export async function openStorage(dir) {
  /** @type {typeof import('../../packages/quartermaster/src/adapters/storage-sqlite/index.ts')} */
  const { openSqliteStore } = await built('adapters/storage-sqlite/index.js')
  /** @type {typeof import('../../packages/quartermaster/src/adapters/sealing/index.ts')} */
  const { createSealer } = await built('adapters/sealing/index.js')
  const store = await openSqliteStore({ dir, log: silentLog })
  const opened = { store, sealer: createSealer({ key: new Uint8Array(32) }) }
  return { storage: { open: async () => opened, current: () => opened }, close: () => store.close() }
}

/**
 * What starting a runtime does: definitions, agents, then the first look at dependencies.
 * @param {Core} core
 */
export async function startCore(core) {
  await Promise.all([core.agents.reload(), core.catalogue.reload()])
  await core.health.probeNew()
}

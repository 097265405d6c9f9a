// @ts-check
// The one place that knows where the built product is. Types come from the sources, so that checking needs no build.

/** @typedef {import('../../packages/quartermaster/src/app/build-core.ts').Core} Core */
/** @typedef {import('../../packages/quartermaster/src/app/build-core.ts').CorePorts} CorePorts */
/** @typedef {import('../../packages/quartermaster/src/core/catalogue/index.ts').SourceUnit} SourceUnit */
/** @typedef {import('../../packages/quartermaster/src/contracts/index.ts').AgentConfig} AgentConfig */

/** @param {string} file */
const built = file => import(new URL(`../../packages/quartermaster/dist/${file}`, import.meta.url).href)

/** The public face: @type {typeof import('../../packages/quartermaster/src/index.ts')} */
export const product = await built('index.js')

/** @type {typeof import('../../packages/quartermaster/src/app/build-core.ts')} */
const { buildCore } = await built('app/build-core.js')
/** @type {typeof import('../../packages/quartermaster/src/contracts/index.ts')} */
const { DEFAULT_SETTINGS } = await built('contracts/index.js')
/** @type {typeof import('../../packages/quartermaster/src/adapters/json-schema/index.ts')} */
const { createSchemaCompiler } = await built('adapters/json-schema/index.js')
/** @type {typeof import('../../packages/quartermaster/src/adapters/system/index.ts')} */
const { createIds, createSystemClock, sha256, silentLog, systemRandom } = await built('adapters/system/index.js')
/** @type {typeof import('../../packages/quartermaster/src/core/search/index.ts')} */
export const { createSearchIndex } = await built('core/search/index.js')

/**
 * A core with the product's own parts over definitions and agents in memory: what is measured is the registry, not the
 * reading of files.
 * @param {object} options
 * @param {readonly SourceUnit[]} options.units
 * @param {Record<string, AgentConfig>} [options.agents]
 * @param {Partial<CorePorts['settings']>} [options.settings]
 * @returns {Core}
 */
export function createCore({ units, agents = {}, settings = {} }) {
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
    dependencyOptions: () => ({}),
    folders: () => ({ agentDir: '/bench/agents', workspaceDir: '/bench' }),
    serverFactory: () => () => {
      throw new Error('Nothing here asks for a server.')
    },
  })
}

/**
 * What starting a runtime does: definitions, agents, then the first look at dependencies.
 * @param {Core} core
 */
export async function startCore(core) {
  await Promise.all([core.agents.reload(), core.catalogue.reload()])
  await core.health.probeNew()
}

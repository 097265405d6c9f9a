// @ts-check
// A core over a real store in a folder of its own, with tools that do next to nothing, so that what is left is what a call costs.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCore, openStorage, product, startCore } from '../lib/product.mjs'

/** @typedef {import('../lib/product.mjs').Core} Core */
/** @typedef {ReturnType<typeof product.defineTool>} Tool */
/** @typedef {Awaited<ReturnType<typeof openStorage>>['storage']} Storage */

export const INPUT = /** @type {const} */ ({
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
})

/**
 * Does the work in a folder that is gone afterwards, over a store that is closed by then.
 * @template T
 * @param {(place: { dir: string, storage: Storage }) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withStore(work) {
  const dir = await mkdtemp(join(tmpdir(), 'bench-operations-'))
  const { storage, close } = await openStorage(dir)
  try {
    return await work({ dir, storage })
  } finally {
    await close()
    await rm(dir, { recursive: true, force: true })
  }
}

/**
 * @param {object} options
 * @param {Storage} options.storage
 * @param {Parameters<typeof product.defineCapability>[0]} options.capability
 * @param {Parameters<typeof createCore>[0]['settings']} [options.settings]
 * @param {readonly string[]} [options.allow] what the owner has allowed for good
 */
export async function openHouse({ storage, capability, settings = {}, allow = [] }) {
  const definitions = { capabilities: [product.defineCapability(capability)], dependencies: [], injections: [] }
  const { key } = capability
  const clerk = { capabilities: { [key]: {} }, ...(allow.length > 0 && { consent: { allow: [...allow] } }) }
  const core = createCore({
    units: [{ id: `capabilities/${key}.ts`, hash: key, definitions }],
    agents: { clerk: /** @type {import('../lib/product.mjs').AgentConfig} */ (clerk) },
    settings,
    storage,
  })
  await startCore(core)
  return { core, seat: core.agents.session('clerk') }
}

// @ts-check
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApiClient } from '../lib/api-client.mjs'

/**
 * Makes clients of a running `up`: the owner's, and those of its agents.
 * @param {string} dir
 * @param {string} url
 */
export async function clientsOf(dir, url) {
  const admin = (await readFile(join(dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const owner = createApiClient(() => url, admin)

  /** @param {string} agent @returns {Promise<string>} */
  async function tokenOf(agent) {
    const { status, body } = await owner.ask('POST', '/control/createToken', { agent })
    if (status !== 200) throw new Error(`There is no token for ${agent}: ${JSON.stringify(body)}`)
    return body.token
  }

  return {
    owner,
    tokenOf,
    /** @param {string} agent */
    client: async agent => createApiClient(() => url, await tokenOf(agent)),
  }
}

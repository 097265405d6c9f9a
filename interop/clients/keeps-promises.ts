import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningProduct, startProduct } from '../support/running-product.ts'
import type { Connection, InteropClient, Listeners } from './client.ts'
import { PROMISES, type World } from './promises.ts'

const DESK = fileURLToPath(new URL('../desk', import.meta.url))

/** The built product keeps all promises to a client that the client has the skill for. */
export function keepsPromisesTo(client: InteropClient): void {
  describe(`${client.name}`, () => {
    let product: RunningProduct
    let world: World

    beforeAll(async () => {
      product = await startProduct(DESK)
      world = await createWorld(client, product)
    })
    afterAll(() => product?.stop())

    const kept = PROMISES.filter(({ skill }) => skill === undefined || client.skills.includes(skill))
    it.each(kept.map(promise => [promise.title, promise] as const))('%s', async (_title, { keep }) => {
      expect.hasAssertions()
      await keep(world)
    })
  })
}

async function createWorld(client: InteropClient, product: RunningProduct): Promise<World> {
  const tokens = { clerk: await product.issue('clerk'), guest: await product.issue('guest') }
  const connect = async (token: string, listeners: Partial<Listeners> = {}): Promise<Connection> => {
    const ignored: Listeners = { onToolsChanged() {}, onProgress() {}, onQuestion: () => ({}) }
    const connection = await client.connect({ mcpUrl: product.mcpUrl, token, ...ignored, ...listeners })
    // A client whose token was taken back may find nobody to say goodbye to.
    onTestFinished(() => connection.close().catch(() => {}))
    return connection
  }
  return {
    product,
    enter: (agent, listeners) => connect(tokens[agent].token, listeners),
    enterWith: token => connect(token),
  }
}

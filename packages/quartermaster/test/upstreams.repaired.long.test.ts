import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { httpEndpoint } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import type { UpstreamStatus } from '../src/contracts/index.ts'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import { watchingClient } from './support/listing-fixture.ts'
import { ILL_SERVER, openFixture, program } from './support/upstream-fixture.ts'

/** As with what has been down for long, whatever fails in this file is not started again by itself while a test lasts. */
vi.mock(import('../src/adapters/mcp-upstream/connection/connection-state-machine.ts'), async original => ({
  ...(await original()),
  delayAfter: () => 86_400_000,
}))

/** Servers that cannot be started, each for a reason of its own, and what takes away all of these. */
async function brokenServers() {
  const folder = await freshFolder()
  const [licence, script, command] = ['licence', 'script.mjs', 'command'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await writeFile(script, 'process.exit(1)')
  const closed = await httpEndpoint(answerLegacy)
  await closed.close()
  const source = `import(${JSON.stringify(ILL_SERVER)})`
  return {
    mcpServers: {
      licence: program(ILL_SERVER, `--needs=${licence}`),
      script: program(script),
      command: { command },
      port: { url: closed.url },
    },
    async fix() {
      await writeFile(licence, '')
      await writeFile(script, source)
      await writeFile(command, `#!${process.execPath}\n${source}`, { mode: 0o755 })
      await httpEndpoint(answerLegacy, { port: closed.port })
    },
  }
}

it('has a server that was fixed appear in live sessions however long it would be left alone', async () => {
  const { mcpServers, fix } = await brokenServers()
  const fixture = await openFixture({ mcpServers })
  const { seen, names } = await watchingClient(fixture)
  const all = () => fixture.control<UpstreamStatus[]>('upstreams')
  const waiting = async () => (await all()).filter(({ nextStartAt }) => nextStartAt !== undefined).length
  await expect.poll(waiting).toBe(4)
  expect(await names()).toEqual([])
  await fix()
  await expect.poll(() => seen.changes).toBeGreaterThan(0)
  const first = (name: string) => name.endsWith('_echo') || name.endsWith('_count')
  const expected = ['command_echo', 'licence_echo', 'port_count', 'script_echo']
  await expect.poll(async () => (await names()).filter(first)).toEqual(expected)
})

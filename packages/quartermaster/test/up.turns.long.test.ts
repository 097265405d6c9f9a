import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openProcessFixture } from './support/upstream-fixture.ts'

/** Writes down whether `up` listened when it was started, and hangs. A shell is there sooner than Node. */
const WITNESS = {
  command: 'sh',
  args: [
    '-c',
    'if [ -e .quartermaster/endpoint.json ]; then echo later; else echo early; fi >> found.txt; exec sleep 60',
  ],
}
const NAMES = ['one', 'two', 'three', 'four', 'five', 'six']

describe('up', () => {
  it('listens before it starts more than one server', async () => {
    const { dir } = await openProcessFixture({ mcpServers: Object.fromEntries(NAMES.map(name => [name, WITNESS])) })
    const found = async () => (await readFile(join(dir, 'found.txt'), 'utf8').catch(() => '')).trim().split('\n')
    await expect.poll(found).toHaveLength(NAMES.length)
    expect((await found()).filter(one => one === 'early').length).toBeLessThanOrEqual(1)
  })
})

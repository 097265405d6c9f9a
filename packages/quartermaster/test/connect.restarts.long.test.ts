import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectClient, ERAS, fixtureProject, running } from './support/bridge.ts'
import { startUp, startUpProcess } from './support/product.ts'

describe.each(ERAS)('connect over a restart, with a real client of the era %s', mode => {
  it('holds calls while up is away, and each is done once', async () => {
    const dir = await fixtureProject()
    const first = await startUpProcess(dir)
    const { client } = await connectClient(dir, mode)
    const names = ['one', 'two', 'three']
    const add = (name: string) => client.callTool({ name: 'add', arguments: { name } })
    await add('before')
    await first.kill()
    // Neither was its tools listed, nor is anything there that could be asked.
    const adding = Promise.all(names.map(add))
    await startUp(dir)
    expect((await adding).map(({ content }) => content)).toEqual(names.map(text => [{ type: 'text', text }]))
    const added = (await readFile(join(dir, 'added.txt'), 'utf8')).trim().split('\n')
    expect(added.toSorted()).toEqual(['before', ...names].toSorted())
  })

  it('answers a call once that was under way when up was killed, and whose tool may be run again', async () => {
    const dir = await fixtureProject()
    const first = await startUpProcess(dir)
    const { client } = await connectClient(dir, mode)
    const put = client.callTool({ name: 'put', arguments: {} })
    await expect.poll(() => running(dir)).toBe(1)
    await first.kill()
    await writeFile(join(dir, 'go.txt'), '')
    // By the same code: built otherwise the tool would count as another one.
    await startUpProcess(dir)
    expect((await put).content).toEqual([{ type: 'text', text: 'put' }])
  })
})

import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type FilesFixture, filesFixture } from '../../testing/files-fixture.ts'

// Another process, so that the swaps fall between any two steps of a call. It swaps a real thing with a link to its
// double outside and back, as fast as it can, a bounded number of times.
const SWAPPER = `
  const fs = require('node:fs')
  const [thing, outside, times] = process.argv.slice(1)
  for (let i = 0; i < Number(times); i++) {
    fs.renameSync(thing, thing + '-parked')
    fs.symlinkSync(outside, thing)
    fs.unlinkSync(thing)
    fs.renameSync(thing + '-parked', thing)
  }
`

async function whileSwapping(desk: FilesFixture, thing: string, work: () => Promise<unknown>): Promise<number> {
  const args = [desk.project.path(`work/${thing}`), desk.project.path(`outside/${thing}`), '12000']
  const swapper = { isDone: false }
  const swapped = promisify(execFile)(process.execPath, ['-e', SWAPPER, ...args]).finally(() => {
    swapper.isDone = true
  })
  let rounds = 0
  while (!swapper.isDone) {
    await work()
    rounds++
  }
  await swapped
  return rounds
}

const DOUBLE = {
  'work/folder/file': 'inside',
  'work/single': 'inside',
  'outside/folder/file': 'OUTSIDE',
  'outside/folder/only-outside': 'OUTSIDE',
  'outside/single': 'OUTSIDE',
}

describe.each(['handles', 'paths'] as const)('a link swapped in between check and use, walking by %s', walk => {
  it('never makes a read, a list or a search show what is outside', async () => {
    const desk = await filesFixture({ walk, files: DOUBLE })
    const seen = new Set<string>()
    const rounds = await whileSwapping(desk, 'folder', async () => {
      const said = await Promise.all([
        ...Array.from({ length: 6 }, () => desk.read({ path: 'folder/file' })),
        desk.list({ path: 'folder' }),
        desk.list({ depth: 3 }),
        desk.search({ query: 'side' }),
      ])
      for (const each of said) seen.add(JSON.stringify(each.result))
    })
    expect(rounds).toBeGreaterThan(0)
    // The double outside is one byte longer.
    expect([...seen].filter(text => /OUTSIDE|only-outside|"size":7/.test(text))).toEqual([])
  })

  it('never makes a read of a single file follow it', async () => {
    const desk = await filesFixture({ walk, files: DOUBLE })
    const texts = new Set<string>()
    await whileSwapping(desk, 'single', async () => {
      const said = await Promise.all(Array.from({ length: 8 }, () => desk.read({ path: 'single' })))
      for (const { ok, data } of said) if (ok) texts.add(String(data.text))
    })
    expect([...texts].filter(text => text !== 'inside')).toEqual([])
  })

  it('never makes a write change what is outside', async () => {
    const desk = await filesFixture({ walk, files: DOUBLE })
    let number = 0
    await whileSwapping(desk, 'folder', async () => {
      await Promise.all([
        desk.write({ path: `folder/new-${number++}`, content: 'written' }),
        desk.write({ path: 'folder/file', content: 'inside' }),
        desk.write({ path: `folder/only-once-${number}`, content: 'written', mode: 'create' }),
      ])
    })
    const outside = await readdir(desk.project.path('outside/folder'))
    // By paths the temporary file may be made outside; it is noticed before anything is written to it.
    const strays = outside.filter(name => name.endsWith('.tmp'))
    for (const name of strays) expect(await desk.project.read(`outside/folder/${name}`)).toBe('')
    expect(outside.filter(name => !strays.includes(name))).toEqual(['file', 'only-outside'])
    expect(await desk.project.read('outside/folder/file')).toBe('OUTSIDE')
    if (walk === 'paths') return
    const inside = await readdir(desk.project.path('work/folder'))
    expect([...strays, ...inside.filter(name => name.endsWith('.tmp'))]).toEqual([])
  })
})

const handles = async () => (await readdir('/proc/self/fd')).length

describe.runIf(process.platform === 'linux')('handles', () => {
  it('are all closed after thousands of calls, whether they succeed, fail or are aborted', async () => {
    const desk = await filesFixture({ files: { ...DOUBLE, 'work/a/b/c/d': 'x' } })
    const aborted = { signal: AbortSignal.abort(new Error('gone')) }
    const round = async () => {
      await desk.read({ path: 'a/b/c/d' })
      await desk.read({ path: 'a/b/c/nothing' })
      await desk.read({ path: '../outside/single' })
      await desk.read({ path: 'single' }, aborted).catch(() => {})
      await desk.list({ depth: 10, limit: 1 })
      await desk.list({ depth: 10 }, aborted).catch(() => {})
      await desk.search({ query: 'x', limit: 1 })
      await desk.search({ query: 'x' }, { deadline: Date.now() })
      await desk.write({ path: 'a/b/new', content: 'x' }, aborted).catch(() => {})
      await desk.write({ path: 'a/nothing/new', content: 'x' })
    }
    await round()
    const before = await handles()
    for (let i = 0; i < 300; i++) await round()
    expect(await handles()).toBe(before)
  })
})

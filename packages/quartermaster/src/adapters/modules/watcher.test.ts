import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as Chokidar from 'chokidar'
import { expect, it, vi } from 'vitest'
import { createWatcher } from './watcher.ts'

const chokidar = vi.hoisted(() => ({ error: Object.assign(new Error('no space for watches'), { code: 'ENOSPC' }) }))

// The system's limit on watches cannot be reached without hurting everything else on the machine.
vi.mock('chokidar', async original => {
  const real = await original<typeof Chokidar>()
  const watch: typeof real.watch = (paths, options) => {
    const watcher = real.watch(paths, options)
    return watcher.once('ready', () => void [1, 2, 3].map(() => watcher.emit('error', chokidar.error)))
  }
  return { ...real, watch }
})

it('logs once what to do when watches run out, and goes on', async () => {
  const root = await mkdtemp(join(tmpdir(), 'watcher-test-'))
  const warn = vi.fn<(message: string) => void>()
  const log = { debug() {}, info() {}, warn, error() {} }
  await new Promise<void>(onReady => {
    const watcher = createWatcher({
      dir: join(root, 'capabilities'),
      log,
      onEvent() {},
      onReady: () => setImmediate(() => watcher.close().then(onReady)),
    })
  })
  await rm(root, { recursive: true })
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/no space for watches.*max_user_watches.*"quartermaster reload"/), { code: 'ENOSPC' }],
  ])
})

import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { withLock } from './lock.mjs'

function lockFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quartermaster-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'lock')
}

it('lets one work at a time and tells the other that it waits', async () => {
  const file = lockFile()
  const order: string[] = []
  let secondWaits = () => {}
  const untilSecondWaits = new Promise<void>(resolve => (secondWaits = resolve))
  const first = withLock(file, {}, async () => {
    order.push('first begins')
    await untilSecondWaits
    order.push('first ends')
  })
  const onWait = () => {
    order.push('second waits')
    secondWaits()
  }
  await Promise.all([first, withLock(file, { onWait }, async () => void order.push('second works'))])
  expect(order).toEqual(['first begins', 'second waits', 'first ends', 'second works'])
})

it('answers what the work answered and lets go', async () => {
  const file = lockFile()
  expect(await withLock(file, {}, async () => existsSync(file))).toBe(true)
  expect(existsSync(file)).toBe(false)
})

it('lets go when the work fails', async () => {
  const file = lockFile()
  await expect(withLock(file, {}, () => Promise.reject(new Error('no luck')))).rejects.toThrow('no luck')
  expect(existsSync(file)).toBe(false)
})

it('takes over a lock that nobody keeps fresh', async () => {
  const file = lockFile()
  writeFileSync(file, 'left behind')
  utimesSync(file, new Date(0), new Date(0))
  expect(await withLock(file, {}, async () => 'done')).toBe('done')
})

it('leaves a lock alone that somebody else took over meanwhile', async () => {
  const file = lockFile()
  await withLock(file, {}, async () => writeFileSync(file, 'somebody else'))
  expect(existsSync(file)).toBe(true)
})

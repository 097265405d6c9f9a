import type { ChildProcess } from 'node:child_process'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { launchUp, makeProject, quartermaster, startUp } from './support/product.ts'

const PAGE_BYTES = 4096

/** A project whose `up` has run and ended, and the file of its store. */
async function projectThatRan(): Promise<{ dir: string; file: string }> {
  const dir = await makeProject({ 'agents/default.json': '{ "capabilities": {} }' })
  const up = await startUp(dir)
  expect(await up.stop()).toBe(0)
  return { dir, file: join(dir, '.quartermaster', 'store.db') }
}

async function overwrite(file: string, { from, pages }: { from: number; pages: number }): Promise<void> {
  const handle = await open(file, 'r+')
  await handle.write(Buffer.alloc(pages * PAGE_BYTES, 0xa5), 0, pages * PAGE_BYTES, from * PAGE_BYTES)
  await handle.close()
}

async function doctor(dir: string) {
  const { code, json } = await quartermaster(['doctor', '--json'], { cwd: dir })
  return { code, found: json<{ level: string; what: string; fix?: string }[]>().filter(({ level }) => level !== 'ok') }
}

describe('a damaged store', () => {
  it.each([
    { where: 'at its beginning', from: 0, pages: 10 },
    { where: 'in its middle', from: 1, pages: 20 },
  ])('$where keeps `up` from starting, and `doctor` says how to fix it', async damage => {
    const { dir, file } = await projectThatRan()
    await overwrite(file, damage)
    const up = await quartermaster(['up', '--port', '0', '--json'], { cwd: dir })
    expect(up.code).not.toBe(0)
    expect(up.json()).toMatchObject({ error: { code: 'CONFIG_INVALID', message: expect.stringContaining(file) } })
    expect(await doctor(dir)).toEqual({
      code: 1,
      found: [
        {
          level: 'error',
          what: expect.stringContaining(`The store "${file}" is damaged: `),
          fix: expect.stringMatching(/backup.*move store\.db.*tokens, operations and the audit are gone/),
        },
      ],
    })
  })
})

describe('a store that is gone', () => {
  it('is a warning of `doctor`, and of the `up` that creates it again', async () => {
    const { dir, file } = await projectThatRan()
    await rm(file)
    const fix = expect.stringContaining('before the next start')
    expect(await doctor(dir)).toEqual({
      code: 0,
      found: [{ level: 'warning', what: expect.stringContaining(file), fix }],
    })
    let warned: Promise<void> | undefined
    const up = await launchUp(dir, {
      onStarted(child) {
        onTestFinished(() => void child.kill('SIGKILL'))
        warned = said(child, 'The store was missing and is created again')
      },
    })
    await warned
    expect(await doctor(dir)).toEqual({ code: 0, found: [] })
    expect(await up.stop()).toBe(0)
  })

  it('is nothing to speak of where there has never been one', async () => {
    const dir = await makeProject({ 'agents/default.json': '{ "capabilities": {} }' })
    expect(await doctor(dir)).toEqual({ code: 0, found: [] })
  })
})

/** Resolves when the process has said this on standard error. */
function said(child: ChildProcess, text: string): Promise<void> {
  let heard = ''
  return new Promise(resolve => {
    child.stderr?.on('data', data => {
      heard += String(data)
      if (heard.includes(text)) resolve()
    })
  })
}

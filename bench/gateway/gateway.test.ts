import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PARTS = ['start', 'call', 'direct', 'legacy', 'progress', 'list']

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

let profiles: string
let run: { stdout: string; stderr: string }

// Every part starts servers, so one run shows everything.
beforeAll(async () => {
  // The benchmark measures the build, so there has to be one of these sources.
  await node('scripts/ensure.mjs')
  profiles = await mkdtemp(join(tmpdir(), 'bench-profiles-'))
  run = await node('--expose-gc', 'bench/gateway/index.mjs', '--quick', '--json', '--profile', profiles)
})
afterAll(() => rm(profiles, { recursive: true, force: true }))

describe('the gateway benchmark', () => {
  it('measures every part and prints the figures as JSON', () => {
    const { figures } = JSON.parse(run.stdout) as { figures: { part: string }[] }
    expect([...new Set(figures.map(({ part }) => part))]).toEqual(PARTS)
    for (const figure of figures)
      expect(figure).toMatchObject({ measured: expect.any(Number), unit: expect.any(String) })
  })

  it('sets the product against the SDK alone, and its own way for calls against the SDK’s', () => {
    const { figures } = JSON.parse(run.stdout) as { figures: { part: string; what: string }[] }
    const pairs = figures.flatMap(({ part, what }) => / against (.+?),/.exec(what)?.[1]?.concat(` in ${part}`) ?? [])
    expect([...new Set(pairs)]).toEqual([
      'SDK alone in start',
      'SDK alone in call',
      'bare Hono in call',
      'direct calls off in direct',
      'SDK alone in legacy',
      'SDK alone in progress',
      'SDK alone in list',
    ])
  })

  it('writes a CPU profile of the product and says where its time went', async () => {
    expect(JSON.parse(await readFile(join(profiles, 'call.cpuprofile'), 'utf8'))).toHaveProperty('nodes')
    expect(run.stderr).toMatch(/call\.cpuprofile: \d+ ms not idle/)
  })
})

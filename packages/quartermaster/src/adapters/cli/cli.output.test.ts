import { describe, expect, it } from 'vitest'
import { FORECAST_DOWN, READ_FILE, WEATHER } from '../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../testing/cli-host.ts'
import { runCli } from './index.ts'
import { displayWidth } from './output/layout.ts'

const ESC = '\u001b'
const control = { tools: async () => [READ_FILE, WEATHER] }

async function tools(options: CliHostOptions = {}, argv: string[] = []) {
  const { host, seen } = createFakeCliHost({ control, ...options })
  return { code: await runCli(['tools', ...argv], host), ...seen }
}

describe('output', () => {
  it('has no colour when piped', async () => {
    expect((await tools()).stdout).not.toContain(ESC)
  })

  it('has colour on a terminal', async () => {
    expect((await tools({ terminal: { stdout: true } })).stdout).toContain(`${ESC}[32mactive${ESC}[39m`)
  })

  it.each([
    { why: 'NO_COLOR is set', options: { env: { NO_COLOR: '1' } }, argv: [] },
    { why: 'NO_COLOR and FORCE_COLOR are set', options: { env: { NO_COLOR: '1', FORCE_COLOR: '1' } }, argv: [] },
    { why: 'FORCE_COLOR is 0', options: { env: { FORCE_COLOR: '0' } }, argv: [] },
    { why: 'the terminal is dumb', options: { env: { TERM: 'dumb' } }, argv: [] },
    { why: '--no-color is given', options: {}, argv: ['--no-color'] },
  ])('has no colour on a terminal when $why', async ({ options, argv }) => {
    expect((await tools({ terminal: { stdout: true }, ...options }, argv)).stdout).not.toContain(ESC)
  })

  it('has colour in a pipe when FORCE_COLOR asks for it', async () => {
    expect((await tools({ env: { FORCE_COLOR: '1' } })).stdout).toContain(ESC)
  })

  it('aligns columns by what is seen, not by what is stored', async () => {
    const wide = { ...READ_FILE, name: 'a', section: '天気予報' }
    const flag = { ...READ_FILE, name: 'b', section: '🇨🇭' }
    const plain = { ...READ_FILE, name: 'c', section: 'été' }
    const { stdout } = await tools({ control: { tools: async () => [wide, flag, plain] } })
    const places = stdout
      .split('\n')
      .slice(1, 4)
      .map(line => displayWidth(line.slice(0, line.indexOf('Reads'))))
    expect(new Set(places).size).toBe(1)
  })

  it('fits a terminal, breaking what is long between words', async () => {
    const long = { ...WEATHER, short: 'Tells the weather of a city, for today and the next days, with wind and rain.' }
    const { stdout } = await tools({
      control: { tools: async () => [long] },
      terminal: { stdout: true },
      env: { NO_COLOR: '1' },
      columns: 50,
    })
    const lines = stdout.trimEnd().split('\n')
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(50)
    expect(stdout.replace(/\s+/g, ' ')).toContain('Tells the weather of')
    expect(stdout).not.toContain('…')
  })

  it('cuts nothing and breaks nothing when piped', async () => {
    const short = 'word '.repeat(100).trim()
    const { stdout } = await tools({ control: { tools: async () => [{ ...READ_FILE, short }] }, columns: 50 })
    expect(stdout).toContain(short)
  })

  it('shows control characters of definitions instead of sending them', async () => {
    const evil = {
      ...WEATHER,
      short: `Nice${ESC}]0;owned\u0007 \u202etext\u009b31m`,
      missing: [{ ...FORECAST_DOWN, reason: `no${ESC}[2Jway` }],
    }
    const { stdout } = await tools({ control: { tools: async () => [evil] } })
    expect(stdout).toContain('Nice\\x1b]0;owned\\x07 \\u{202e}text\\x9b31m')
    expect(stdout).toContain('no\\x1b[2Jway')
    expect(stdout).not.toMatch(/[\u001b\u0007\u202e\u009b]/)
  })

  it('is exactly one JSON value with --json, whose text steers no terminal', async () => {
    const evil = { ...READ_FILE, short: `a${ESC}[2J\u009b1m\u202eb` }
    const { stdout, stderr } = await tools({ control: { tools: async () => [evil] } }, ['--json'])
    expect(JSON.parse(stdout)).toEqual([evil])
    expect(stdout).not.toMatch(/[\u001b\u009b\u202e]/)
    expect(stdout.trimEnd()).not.toContain('\n')
    expect(stderr).toBe('')
  })

  it('lays JSON out for people on a terminal', async () => {
    const { stdout } = await tools({ terminal: { stdout: true } }, ['--json'])
    expect(stdout).toMatch(/^\[\n {2}\{\n/)
    expect(JSON.parse(stdout)).toEqual([READ_FILE, WEATHER])
  })
})

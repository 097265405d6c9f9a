import { describe, expect, it } from 'vitest'
import { pinEntry } from './pinning.ts'

/** What stands in quotes is one word. */
const entryOf = (line: string) => {
  const [command = '', ...args] = (line.match(/"[^"]*"|\S+/g) ?? []).map(word => word.replaceAll('"', ''))
  return { command, args }
}

const host = { packageVersion: async () => '2.0.0' }
const sh = (script: string) => ({ command: 'sh', args: ['-c', script] })

describe('a command that runs a package', () => {
  it.each([
    ['npx -y server@latest --port 1', '-y server@2.0.0 --port 1'],
    ['npx --package=pkg --package=other serve', '--package=pkg@2.0.0 --package=other@2.0.0 serve'],
    ['cmd /c npx -y server', '/c npx -y server@2.0.0'],
    ['npx -y dotenv-cli -e .env -- npx -y server', '-y dotenv-cli@2.0.0 -e .env -- npx -y server@2.0.0'],
  ])('gets the version where the package stands: %s', async (line, pinned) => {
    const { entry } = await pinEntry(entryOf(line), { pin: true, host })
    expect((entry['args'] as string[]).join(' ')).toBe(pinned)
  })

  it('gets the version that its own range or tag means', async () => {
    const wanted: string[] = []
    const packageVersion = async (name: string) => {
      wanted.push(name)
      return '4.9.0'
    }
    const { entry, notes } = await pinEntry(entryOf('npx -p a@4 -p b@beta x'), { pin: true, host: { packageVersion } })
    expect(wanted).toEqual(['a@4', 'b@beta'])
    expect(entry).toEqual(entryOf('npx -p a@4.9.0 -p b@4.9.0 x'))
    expect(notes).toEqual(['Pinned: a@4.9.0.', 'Pinned: b@4.9.0.'])
    const { notes: warnings } = await pinEntry(entryOf('npx a@4'), { pin: false, host })
    expect(warnings).toEqual([expect.stringMatching(/^"a@4" is no exact version, .* or --pin for the present one\.$/)])
  })

  it.each([
    'npx -y a</dev/stdin',
    'echo x; npx -y "a"',
    '# say "hi\nnpx \\\n  -y "a"',
    'A=$(date) exec npx -y a | tee log',
  ])('stays in a script, and that is said: %s', async script => {
    for (const pin of [true, false]) {
      const { entry, notes } = await pinEntry(sh(script), { pin, host })
      expect({ entry, notes }).toEqual({ entry: sh(script), notes: [expect.stringContaining('"a" has no version')] })
      expect(notes[0]).toMatch(/ by hand\.$/)
    }
  })

  it.each([
    ['npx -y abc@$VERSION', 'What "abc@${VERSION}" stands for may have no exact version'],
    ['npx -y "$PACKAGE"', 'What "${PACKAGE}" stands for may have no exact version'],
  ])('stays where its name is filled in, and that is said: %s', async (script, note) => {
    const { entry, notes } = await pinEntry(sh(script), { pin: true, host })
    expect({ entry, notes }).toEqual({ entry: sh(script), notes: [expect.stringContaining(note)] })
  })

  it.each([
    entryOf('npx --registry https://r.example a'),
    { ...entryOf('npx -y a'), env: { npm_config_registry: 'https://r.example' } },
    sh('export NPM_CONFIG_REGISTRY=https://r.example; npx -y a'),
  ])('is left as it is where another registry is named, and that is told: %j', async entry => {
    const { entry: left, notes } = await pinEntry(entry, { pin: true, host })
    expect({ left, notes }).toEqual({
      left: entry,
      notes: [
        expect.stringMatching(/^Not pinned, because the entry names a registry .* has no version, .* by hand\.$/),
      ],
    })
  })

  it.each([
    ['uvx', 'powershell -Command "C:\\bin\\uvx.exe a"'],
    ['npx', 'sh -c "$(command -v npx) -y a"'],
  ])('is told of where it cannot be read what %s runs: %s', async (program, line) => {
    for (const pin of [true, false]) {
      const { notes } = await pinEntry(entryOf(line), { pin, host })
      expect(notes).toEqual([expect.stringContaining(`Which packages "${program}" runs here cannot be told.`)])
    }
  })

  it.each(['node npx-server/index.js', 'node serve --cache .npx', 'sh -c "command -v npx && npx a@1.0.0"', 'x npx=1'])(
    'is not told of where there is none: %s',
    async line => {
      expect((await pinEntry(entryOf(line), { pin: false, host })).notes).toEqual([])
    },
  )

  it('is reported for each package: what was pinned, and what was not', async () => {
    const fails = {
      packageVersion: async (name: string) => (name === 'a' ? '2.0.0' : Promise.reject(new Error('No.'))),
    }
    const { entry, notes } = await pinEntry(entryOf('npx -p a -p b c'), { pin: true, host: fails })
    expect(entry).toEqual(entryOf('npx -p a@2.0.0 -p b c'))
    expect(notes).toEqual(['Pinned: a@2.0.0.', 'Not pinned: No.'])
  })
})

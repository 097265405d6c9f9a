import { describe, expect, it } from 'vitest'
import { findUnpinned } from './package-pin.ts'
import { pinEntry } from './pinning.ts'

/** What stands in quotes is one word. */
const entryOf = (line: string) => {
  const [command = '', ...args] = (line.match(/"[^"]*"|\S+/g) ?? []).map(word => word.replaceAll('"', ''))
  return { command, args }
}

const find = (line: string) => {
  const { command, args } = entryOf(line)
  return findUnpinned(command, args)
}

const host = { packageVersion: async () => '2.0.0' }
const sh = (script: string) => ({ command: 'sh', args: ['-c', script] })

describe('a command that runs a package', () => {
  it.each([
    ['npx -y server', 'npm', 'server'],
    ['npx -y @scope/server /data', 'npm', '@scope/server'],
    ['npx --yes server@latest', 'npm', 'server'],
    ['npx -y server@1', 'npm', 'server'],
    ['/usr/bin/npx -p @scope/pkg serve', 'npm', '@scope/pkg'],
    ['npx --package=pkg serve', 'npm', 'pkg'],
    ['cmd /c npx -y server', 'npm', 'server'],
    ['pnpm dlx server', 'npm', 'server'],
    ['bunx server', 'npm', 'server'],
    ['npm exec -y server', 'npm', 'server'],
    ['npm --yes x @scope/server -- /data', 'npm', '@scope/server'],
    ['npm exec --package=pkg -- serve', 'npm', 'pkg'],
    ['bun x server', 'npm', 'server'],
    ['env A=b npx -y server', 'npm', 'server'],
    ['sh -c "npx -y server"', 'npm', 'server'],
    ['bash -lc "cd /data && exec npx -y server@latest ."', 'npm', 'server'],
    ['pipx run pkg', 'pipx', 'pkg'],
    ['pipx run --spec pkg serve', 'pipx', 'pkg'],
    ['docker container run -i a/b', 'docker', 'a/b'],
    ['uvx mcp-server-git --repository .', 'uv', 'mcp-server-git'],
    ['uvx --from pkg[extra] serve', 'uv', 'pkg[extra]'],
    ['uv tool run pkg', 'uv', 'pkg'],
    ['docker run -i --rm -e TOKEN ghcr.io/a/b', 'docker', 'ghcr.io/a/b'],
    ['docker run -i --name x localhost:5000/a:latest', 'docker', 'localhost:5000/a'],
    ['nice -n 10 npx server', 'npm', 'server'],
    ['sudo -u me npx server', 'npm', 'server'],
    ['env -u X npx server', 'npm', 'server'],
    ['timeout -k 5 30 npx server', 'npm', 'server'],
    ['npm --prefix /x exec server', 'npm', 'server'],
    ['docker --context x run -i a/b', 'docker', 'a/b'],
    ['cmd /d /s /c npx server', 'npm', 'server'],
    ['cmd /d /s /c "npx -y server"', 'npm', 'server'],
    ['cmd.exe /c "cd data && npx.cmd -y server ."', 'npm', 'server'],
    ['npx --registry https://r.example server', 'npm', 'server'],
    ['npx -y server -p 80', 'npm', 'server'],
    ['sh -c "command -v npx && npx -y server"', 'npm', 'server'],
    ['uvx --from=pkg serve', 'uv', 'pkg'],
    ['deno run -A npm:@scope/server', 'deno', 'npm:@scope/server'],
  ])('without a version is found: %s', (line, runner, name) => {
    expect(find(line)).toMatchObject([{ runner, package: name }])
  })

  it.each([
    'npx -y server@1.2.3',
    'npx -y @scope/server@1.2.3-beta.1',
    'npx ./server',
    'npx -y https://example.com/x.tgz',
    'uvx pkg==1.2.3',
    'uvx pkg@1.2.3',
    'uvx --from git+https://example.com/x serve',
    'docker run -i a/b:1.2',
    'docker run -i a/b@sha256:abc',
    'docker exec -i box serve',
    'npm exec -y server@1.2.3',
    'npm run server',
    'npm start -- exec server',
    'sh -c "npx -y server@1.2.3 && cd x"',
    'sh -c "node server.js x npx"',
    'pipx run --spec pkg==1.2.3 serve',
    'bun run server',
    'node server.js',
    'npx',
    'npx -y server@1.2.3 -p 80',
    'uv run server.py',
    'deno run -A npm:server@1.2.3',
    'deno run main.ts',
  ])('is left alone otherwise: %s', line => {
    expect(find(line)).toEqual([])
  })

  it.each([
    ['npx -y server@latest --port 1', '-y server@2.0.0 --port 1'],
    ['npx --package=pkg serve', '--package=pkg@2.0.0 serve'],
    ['cmd /c npx -y server', '/c npx -y server@2.0.0'],
    ['cmd /d /s /c npx -y server', '/d /s /c npx -y server@2.0.0'],
    ['cmd /d /s /c "cd server & npx -y server ."', '/d /s /c cd server & npx -y server@2.0.0 .'],
    ['nice -n 10 npx server', '-n 10 npx server@2.0.0'],
    ['npm exec -y server -- --port 1', 'exec -y server@2.0.0 -- --port 1'],
    ['sh -c "cd server; npx -y server server"', '-c cd server; npx -y server@2.0.0 server'],
  ])('gets the version where the package stands: %s', async (line, pinned) => {
    const { entry } = await pinEntry(entryOf(line), { pin: true, host })
    expect((entry['args'] as string[]).join(' ')).toBe(pinned)
  })

  it.each([
    ['npx -y a</dev/stdin', 'npx -y a@2.0.0</dev/stdin'],
    ['npx -y a>/dev/null 2>&1', 'npx -y a@2.0.0>/dev/null 2>&1'],
    ['echo npx -y a; npx -y a', 'echo npx -y a; npx -y a@2.0.0'],
    ['npx -y "a"', 'npx -y "a@2.0.0"'],
    ['npx "--package=a" serve', 'npx "--package=a@2.0.0" serve'],
    [`sh -c 'npx -y a'`, `sh -c 'npx -y a@2.0.0'`],
    ['bash -lc "exec sh -c \\"npx -y \\\\\\"a\\\\\\"\\""', 'bash -lc "exec sh -c \\"npx -y \\\\\\"a@2.0.0\\\\\\"\\""'],
    ['npx b@1.0.0 && npx a', 'npx b@1.0.0 && npx a@2.0.0'],
    ['npx a || npx a@latest', 'npx a@2.0.0 || npx a@2.0.0'],
    ['docker run img:1 sh -c "npx -y a"', 'docker run img:1 sh -c "npx -y a@2.0.0"'],
    ['if test -f x; then npx a; else npx a; fi', 'if test -f x; then npx a@2.0.0; else npx a@2.0.0; fi'],
    ['while ! npx a; do { npx a; }; done', 'while ! npx a@2.0.0; do { npx a@2.0.0; }; done'],
    ['serve() { npx a; }; serve', 'serve() { npx a@2.0.0; }; serve'],
    ['eval "npx a"', 'eval "npx a@2.0.0"'],
    ['eval exec npx a', 'eval exec npx a@2.0.0'],
    ['npx \\\n  -y \\\n  a', 'npx \\\n  -y \\\n  a@2.0.0'],
    ['sh -c "npx \\\n a"', 'sh -c "npx \\\n a@2.0.0"'],
  ])('in a script gets it at each of its places: %s', async (script, pinned) => {
    const { entry, notes } = await pinEntry(sh(script), { pin: true, host })
    expect({ entry, notes }).toEqual({ entry: sh(pinned), notes: ['Pinned: a@2.0.0.'] })
    expect((await pinEntry(sh(script), { pin: false, host })).notes).toEqual([
      expect.stringMatching(/^"a" has no version/),
    ])
  })

  it.each([
    ['npx -y a"bc"', '"abc" has no version'],
    ['npx -y a\\bc', '"abc" has no version'],
    ['npx -y abc@$VERSION', '"abc" has no version'],
    ['npx -y "$PACKAGE"', 'What "$PACKAGE" stands for may have no version'],
  ])('is left as it is where its name is put together, and that is told: %s', async (script, told) => {
    for (const pin of [true, false]) {
      const { entry, notes } = await pinEntry(sh(script), { pin, host })
      expect({ entry, notes }).toEqual({ entry: sh(script), notes: [expect.stringContaining(told)] })
      expect(notes[0]).toMatch(/ by hand\.$/)
    }
  })

  it('is told of for each package: what was pinned, and what was not', async () => {
    const fails = {
      packageVersion: async (name: string) => (name === 'a' ? '2.0.0' : Promise.reject(new Error('No.'))),
    }
    const { entry, notes } = await pinEntry(sh('npx a; npx b; uvx c'), { pin: true, host: fails })
    expect(entry).toEqual(sh('npx a@2.0.0; npx b; uvx c'))
    expect(notes).toEqual(['Pinned: a@2.0.0.', 'Not pinned: No.', expect.stringMatching(/^Only packages of npm .*"c"/)])
  })
})

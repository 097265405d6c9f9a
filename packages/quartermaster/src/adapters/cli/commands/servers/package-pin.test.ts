import { describe, expect, it } from 'vitest'
import { findUnpinned } from '../../../../core/shell/index.ts'
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
    ['npx -y server@1.2.x', 'npm', 'server'],
    ['npx -y server@', 'npm', 'server'],
    ['npx -y "server@1.2.3 || 2"', 'npm', 'server'],
    ['npx -y mine@npm:@scope/server@1', 'npm', 'mine@npm:@scope/server'],
    ['uvx "pkg>=1.0"', 'uv', 'pkg'],
    ['uvx pkg[cli]~=1.0', 'uv', 'pkg[cli]'],
    ['uvx pkg==1.*', 'uv', 'pkg'],
    ['uvx --with other pkg==1.0.0', 'uv', 'other'],
    ['uvx --with=one==1.0,other[a,b] pkg@1.0', 'uv', 'other[a,b]'],
    ['uv run --with other server.py', 'uv', 'other'],
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
    'npx -y server@1.2.3-rc.1+build',
    'npx -y server@v1.2.3',
    'npx -y server@file:./loc',
    'npx -y server@github:me/private',
    'npx -y server@me/private',
    'npx -y server@https://example.com/x.tgz',
    'npx -y server@./loc.tgz',
    'npx -y mine@npm:server@1.2.3',
    'npx -p a@1.0.0 -p b@1.0.0 serve',
    'uvx --with other==1.0 "pkg @ git+https://example.com/x"',
    'uvx ./pkg.whl',
  ])('is left alone otherwise: %s', line => {
    expect(find(line)).toEqual([])
  })

  it.each([
    ['npx -y server@latest --port 1', '-y server@2.0.0 --port 1'],
    ['npx --package=pkg --package=other serve', '--package=pkg@2.0.0 --package=other@2.0.0 serve'],
    ['cmd /c npx -y server', '/c npx -y server@2.0.0'],
    ['cmd /d /s /c npx -y server', '/d /s /c npx -y server@2.0.0'],
    ['nice -n 10 npx server', '-n 10 npx server@2.0.0'],
    ['npm exec -y server -- --port 1', 'exec -y server@2.0.0 -- --port 1'],
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
    "sh -c 'npx -y a'",
    'if test -f x; then npx a; else npx a; fi',
    '# say "hi\nnpx \\\n  -y "a"',
    'A=$(date) exec npx -y a | tee log',
    'docker run img:1 sh -c "npx -y a"',
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
    entryOf('npx --@scope:registry=https://r.example @scope/a'),
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
    ['npx', 'docker run --entrypoint npx node:20 -y a'],
    ['npx', 'fnm exec npx -y a'],
    ['npx', 'nix-shell --run "npx -y a"'],
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

  it('is told of for each package: what was pinned, and what was not', async () => {
    const fails = {
      packageVersion: async (name: string) => (name === 'a' ? '2.0.0' : Promise.reject(new Error('No.'))),
    }
    const { entry, notes } = await pinEntry(entryOf('npx -p a -p b c'), { pin: true, host: fails })
    expect(entry).toEqual(entryOf('npx -p a@2.0.0 -p b c'))
    expect(notes).toEqual(['Pinned: a@2.0.0.', 'Not pinned: No.'])
  })
})

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
    ['cmd /d /s /c "cd server & npx -y server ."', '/d /s /c cd server & npx -y server@2.0.0 .'],
    ['nice -n 10 npx server', '-n 10 npx server@2.0.0'],
    ['npm exec -y server -- --port 1', 'exec -y server@2.0.0 -- --port 1'],
    ['npx -y dotenv-cli -e .env -- npx -y server', '-y dotenv-cli@2.0.0 -e .env -- npx -y server@2.0.0'],
    ['sh -c "cd server; npx -y server server"', '-c cd server; npx -y server@2.0.0 server'],
  ])('gets the version where the package stands: %s', async (line, pinned) => {
    const { entry } = await pinEntry(entryOf(line), { pin: true, host })
    expect((entry['args'] as string[]).join(' ')).toBe(pinned)
  })

  it('gets the version that its own range or tag means, each for itself', async () => {
    const asked: string[] = []
    const packageVersion = async (wanted: string) => {
      asked.push(wanted)
      return { 'a@4': '4.9.0', 'a@beta': '6.0.0-beta.1', a: '5.0.0' }[wanted] ?? Promise.reject(new Error('No.'))
    }
    const script = 'npx a@4 & npx a@beta; npx -p a -p "b@^2" x; npx a@file:./a; npx c@npm:a@4; npx a@4'
    const { entry, notes } = await pinEntry(sh(script), { pin: true, host: { packageVersion } })
    expect(asked).toEqual(['a@4', 'a@beta', 'a', 'b@^2'])
    expect(entry).toEqual(
      sh('npx a@4.9.0 & npx a@6.0.0-beta.1; npx -p a@5.0.0 -p "b@^2" x; npx a@file:./a; npx c@npm:a@4; npx a@4.9.0'),
    )
    expect(notes).toEqual([
      'Pinned: a@4.9.0.',
      'Pinned: a@6.0.0-beta.1.',
      'Pinned: a@5.0.0.',
      'Not pinned: No.',
      expect.stringMatching(/^Not pinned, .* "c@npm:a@4" is no exact version, .* Write c@npm:a@VERSION by hand\.$/),
    ])
    const { notes: warnings } = await pinEntry(sh('npx a@4'), { pin: false, host })
    expect(warnings).toEqual([expect.stringMatching(/^"a@4" is no exact version, .* or --pin for the present one\.$/)])
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
    ['# say "hi\nnpx -y "a" # "x', '# say "hi\nnpx -y "a@2.0.0" # "x'],
    ["# don't\nnpx a;# don't\nnpx a", "# don't\nnpx a@2.0.0;# don't\nnpx a@2.0.0"],
    [
      "cat <<'END' >f; npx a\nnpx -y b isn't\nEND\nnpx a",
      "cat <<'END' >f; npx a@2.0.0\nnpx -y b isn't\nEND\nnpx a@2.0.0",
    ],
    ['(cat <<-END)\nnpx b\n\tEND\nnpx a', '(cat <<-END)\nnpx b\n\tEND\nnpx a@2.0.0'],
    ['sh <<END\nnpx a\nEND', 'sh <<END\nnpx a@2.0.0\nEND'],
    ['x=$((1 <<3))\nnpx a', 'x=$((1 <<3))\nnpx a@2.0.0'],
    ['cat <<<word; npx a', 'cat <<<word; npx a@2.0.0'],
    ['>log 2>&1 npx a', '>log 2>&1 npx a@2.0.0'],
    ['x "$(npx -y a)" "`npx a`"', 'x "$(npx -y a@2.0.0)" "`npx a@2.0.0`"'],
    ['x "$(npx -y "a" \\"b)"; npx a', 'x "$(npx -y "a@2.0.0" \\"b)"; npx a@2.0.0'],
    ['trap "npx -y a" EXIT', 'trap "npx -y a@2.0.0" EXIT'],
    ['echo x | xargs -n 1 npx a', 'echo x | xargs -n 1 npx a@2.0.0'],
    ["npx -p b@1.0.0 -c 'npx -y a'", "npx -p b@1.0.0 -c 'npx -y a@2.0.0'"],
    ['npx a -c "npx b"', 'npx a@2.0.0 -c "npx b"'],
    ['su me -c "npx a"', 'su me -c "npx a@2.0.0"'],
    ['coproc npx a', 'coproc npx a@2.0.0'],
    ['docker run -i node:20 env X=1 npx -y a', 'docker run -i node:20 env X=1 npx -y a@2.0.0'],
    ['mise exec node@20 -- npx a; volta run npx a', 'mise exec node@20 -- npx a@2.0.0; volta run npx a@2.0.0'],
    ['wsl -d Debian npx a', 'wsl -d Debian npx a@2.0.0'],
    ['sh -c "npx \\\n a"', 'sh -c "npx \\\n a@2.0.0"'],
    ['T=${T:-$(gh auth token)} npx -y a', 'T=${T:-$(gh auth token)} npx -y a@2.0.0'],
    ['D=$(x "$(y z)" $(y (z)))/data npx -y a', 'D=$(x "$(y z)" $(y (z)))/data npx -y a@2.0.0'],
    ['A=`date`-x npx -y a', 'A=`date`-x npx -y a@2.0.0'],
    ['env $(cat .env | xargs) npx -y a', 'env $(cat .env | xargs) npx -y a@2.0.0'],
    ['x $(npx a $(npx a)) `npx a`', 'x $(npx a@2.0.0 $(npx a@2.0.0)) `npx a@2.0.0`'],
    ["x $(y # don't\n); npx a", "x $(y # don't\n); npx a@2.0.0"],
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
    ['npx -y abc@$VERSION', 'What "abc@$VERSION" stands for may have no exact version'],
    ['npx -y abc$(x)', 'What "abc$(x)" stands for may have no exact version'],
    ['npx -y "$PACKAGE"', 'What "$PACKAGE" stands for may have no exact version'],
  ])('is left as it is where its name is put together, and that is told: %s', async (script, told) => {
    for (const pin of [true, false]) {
      const { entry, notes } = await pinEntry(sh(script), { pin, host })
      expect({ entry, notes }).toEqual({ entry: sh(script), notes: [expect.stringContaining(told)] })
      expect(notes[0]).toMatch(/ by hand\.$/)
    }
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
    const { entry, notes } = await pinEntry(sh('npx a; npx b; uvx c'), { pin: true, host: fails })
    expect(entry).toEqual(sh('npx a@2.0.0; npx b; uvx c'))
    expect(notes).toEqual(['Pinned: a@2.0.0.', 'Not pinned: No.', expect.stringMatching(/^Only packages of npm .*"c"/)])
  })
})

import { describe, expect, it } from 'vitest'
import { findUnpinned, pinnedArgs } from './package-pin.ts'

/** What stands in quotes is one word. */
const find = (line: string) => {
  const [command = '', ...args] = (line.match(/"[^"]*"|\S+/g) ?? []).map(word => word.replaceAll('"', ''))
  return { found: findUnpinned(command, args), args }
}

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
    expect(find(line).found).toMatchObject({ runner, package: name })
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
    expect(find(line).found).toBeUndefined()
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
  ])('gets the version where the package stands: %s', (line, pinned) => {
    const { found, args } = find(line)
    expect(found && pinnedArgs(args, found, '2.0.0').join(' ')).toBe(pinned)
  })
})

import { describe, expect, it } from 'vitest'
import { findUnpinned } from './index.ts'

/** What stands in quotes is one word. */
const find = (line: string) => {
  const [command = '', ...args] = (line.match(/"[^"]*"|\S+/g) ?? []).map(word => word.replaceAll('"', ''))
  return findUnpinned(command, args)
}

describe('a command that runs a package', () => {
  it.each([
    ['npx -y server', 'npm', 'server'],
    ['npx -y @scope/server /data', 'npm', '@scope/server'],
    ['npx --yes server@latest', 'npm', 'server'],
    ['cmd /c npx -y server', 'npm', 'server'],
    ['pnpm dlx server', 'npm', 'server'],
    ['npm exec -y server', 'npm', 'server'],
    ['env A=b npx -y server', 'npm', 'server'],
    ['sh -c "npx -y server"', 'npm', 'server'],
    ['bash -lc "cd /data && exec npx -y server@latest ."', 'npm', 'server'],
    ['pipx run --spec pkg serve', 'pipx', 'pkg'],
    ['uvx mcp-server-git --repository .', 'uv', 'mcp-server-git'],
    ['docker run -i --rm -e TOKEN ghcr.io/a/b', 'docker', 'ghcr.io/a/b'],
    ['docker run -i --name x localhost:5000/a:latest', 'docker', 'localhost:5000/a'],
    ['nice -n 10 npx server', 'npm', 'server'],
    ['npm --prefix /x exec server', 'npm', 'server'],
    ['cmd /d /s /c "npx -y server"', 'npm', 'server'],
    ['cmd.exe /c "cd data && npx.cmd -y server ."', 'npm', 'server'],
    ['npx --registry https://r.example server', 'npm', 'server'],
    ['sh -c "command -v npx && npx -y server"', 'npm', 'server'],
    ['deno run -A npm:@scope/server', 'deno', 'npm:@scope/server'],
    ['npx -y server@1.2.x', 'npm', 'server'],
    ['npx -y "server@1.2.3 || 2"', 'npm', 'server'],
    ['npx -y mine@npm:@scope/server@1', 'npm', 'mine@npm:@scope/server'],
    ['uvx "pkg>=1.0"', 'uv', 'pkg'],
    ['uvx pkg==1.*', 'uv', 'pkg'],
    ['uvx --with other pkg==1.0.0', 'uv', 'other'],
    ['uvx --with=one==1.0,other[a,b] pkg@1.0', 'uv', 'other[a,b]'],
    ['uv run --with other server.py', 'uv', 'other'],
  ])('without a version is found: %s', (line, runner, name) => {
    expect(find(line)).toMatchObject([{ runner, package: name }])
  })

  it.each([
    'npx -y server@1.2.3',
    'npx -y https://example.com/x.tgz',
    'uvx pkg==1.2.3',
    'uvx --from git+https://example.com/x serve',
    'docker run -i a/b:1.2',
    'docker exec -i box serve',
    'npm run server',
    'sh -c "npx -y server@1.2.3 && cd x"',
    'sh -c "node server.js x npx"',
    'node server.js',
    'npx',
    'npx -y server@1.2.3 -p 80',
    'uv run server.py',
    'deno run -A npm:server@1.2.3',
    'npx -y server@file:./loc',
    'npx -y mine@npm:server@1.2.3',
    'npx -p a@1.0.0 -p b@1.0.0 serve',
    'uvx --with other==1.0 "pkg @ git+https://example.com/x"',
  ])('is left alone otherwise: %s', line => {
    expect(find(line)).toEqual([])
  })
})

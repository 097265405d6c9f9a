import { describe, expect, it } from 'vitest'
import { programIdentity } from './index.ts'

/** `npx -y server`, started in a folder: `/work> npx -y server`. */
function identityOf(text: string): string {
  const [, cwd, line = ''] = /^(?:(\S+)> )?(.*)$/s.exec(text) ?? []
  const [command = '', ...args] = line.split(' ')
  return programIdentity({ command, args, cwd })
}

describe('a program', () => {
  it.each([
    ['files /data', 'files /data'],
    // The version of a package does not count.
    ['npx -y server', 'npx -y server@1.2.3'],
    ['npx -y @a/server@4', 'npx -y @a/server@latest'],
    ['npx --package=pkg@1.0.0 serve', 'npx --package=pkg@2.0.0 serve'],
    ['uvx server[cli]==1.0', 'uvx server[cli]>=2.0'],
    ['uvx server@1.0', 'uvx server@latest'],
    ['pipx run server==1.0', 'pipx run server==1.1'],
    ['docker run -i r:5000/me/server:1', 'docker run -i r:5000/me/server@sha256:abc'],
    ['deno run jsr:@me/server@1.2.3', 'deno run jsr:@me/server'],
    ['timeout 9 npx -y server@1.0.0', 'timeout 9 npx -y server@2.0.0'],
    // Nor do folders behind it.
    ['node srv.mjs /data/one', 'node srv.mjs /data/one /data/two'],
    ['node srv.mjs', 'node srv.mjs . ../more ~/notes C:\\data\\ /home/me/.config/x'],
    ['node --no-warnings srv.mjs /one --ro', 'node --no-warnings srv.mjs /two --ro'],
    ['/usr/bin/python3 -u srv.py /one', '/usr/bin/python3 -u srv.py /two'],
    ['deno run -A --allow-net=a.example srv.ts /one', 'deno run -A --allow-net=a.example srv.ts /two'],
    ['bun srv.ts /one', 'bun srv.ts /two'],
    ['bun run srv.ts /one', 'bun run srv.ts /two'],
    ['tsx srv.ts /one', 'tsx srv.ts /two'],
    ['npx -y @a/files@1.0.0 /one', 'npx -y @a/files@2.0.0 /one /two'],
    ['pnpm dlx files /one', 'pnpm dlx files /two'],
    ['uvx files /one', 'uvx files /two'],
    ['cmd /c npx -y files /one', 'cmd /c npx -y files /two'],
    ['mise exec -- node srv.mjs /one', 'mise exec -- node srv.mjs /two'],
    // Nor does the working folder, if it cannot lead elsewhere.
    ['/a> node /opt/srv.mjs .', '/b> node /opt/srv.mjs .'],
    ['/a> /usr/bin/node /opt/srv.mjs', '/usr/bin/node /opt/srv.mjs'],
  ])('is the same: %s, and %s', (one, other) => {
    expect(identityOf(one)).toBe(identityOf(other))
  })

  it.each([
    ['files', 'other'],
    ['files /one', 'files /two'],
    ['node a.mjs', 'node b.mjs'],
    ['node a.mjs', '/opt/node a.mjs'],
    ['node a.mjs', 'node --import ./hook.mjs a.mjs'],
    ['npx -y server', 'npx -y server-2'],
    ['npx -y server', 'pnpm dlx server'],
    ['npx -y server', 'npx -y server@github:me/server'],
    ['npx -y server', 'npx -y server@./server.tgz'],
    ['npx -y server', 'npx -y server@server.tgz'],
    ['npx -y a@npm:b@1.0.0', 'npx -y a@npm:c@1.0.0'],
    ['npx -y git+ssh://git@10.0.0.5', 'npx -y git+ssh://git@10.0.0.9'],
    ['npx -y --registry https://a.example server', 'npx -y --registry https://b.example server'],
    ['uvx --with a,b server', 'uvx --with a,c server'],
    ['uvx server', 'uvx server@git+https://a.example'],
    // Programs that run what they are given.
    ['mise exec -- node srv.mjs', 'mise exec -- node srv2.mjs'],
    ['poetry run server', 'poetry run other'],
    ['conda run -n x python server.py', 'conda run -n x python other.py'],
    ['nohup node srv.mjs', 'nohup node srv2.mjs'],
    ['/usr/bin/timeout 999 node srv.mjs', '/usr/bin/timeout 999 node srv2.mjs'],
    ['ts-node srv.mjs', 'ts-node srv2.mjs'],
    ['node22 srv.mjs', 'node22 srv2.mjs'],
    ['node inspect /srv', 'node inspect /srv2'],
    ['tsx watch a.ts', 'tsx watch b.ts'],
    ['bun run start /srv', 'bun run other /srv'],
    ['node --require /hook /srv', 'node --require /hook /srv2'],
    ['node --require hook.js /srv', 'node --require hook.js /srv2'],
    ['npx tsx a.ts', 'npx tsx b.ts'],
    ['npx -y @hub/cli run a', 'npx -y @hub/cli run b'],
    ['npx -p pkg /bin/a', 'npx -p pkg /bin/b'],
    ['npx dotenv -- /bin/a', 'npx dotenv -- /bin/b'],
    ['uv run --with mcp /srv/a', 'uv run --with mcp /srv/b'],
    ['docker run -i image /bin/a', 'docker run -i image /bin/b'],
    ['node srv.mjs --load /a', 'node srv.mjs --load /b'],
    // Another host.
    ['mcp-remote https://a.example/mcp', 'mcp-remote https://b.example/mcp'],
    ['npx mcp-remote https://a.example/mcp', 'npx mcp-remote https://b.example/mcp'],
    ['node proxy.mjs a.example:80', 'node proxy.mjs b.example:80'],
    ['node proxy.mjs me@a.example', 'node proxy.mjs me@b.example'],
    ['node srv.mjs //a/share', 'node srv.mjs //b/share'],
    ['node srv.mjs \\\\a\\share', 'node srv.mjs \\\\b\\share'],
    ['ssh me@10.0.0.5 mcp', 'ssh me@10.0.0.9 mcp'],
    ['docker -H ssh://root@10.0.0.5 run image', 'docker -H ssh://root@10.0.0.9 run image'],
    // Something that a shell would run.
    ['cmd /c npx -y files /one', 'cmd /c npx -y files /one&calc'],
    ['node srv.mjs /one', 'node srv.mjs /one$(id)'],
    // Another folder, where that leads elsewhere.
    ['/a> ./server', '/b> ./server'],
    ['/a> poetry run server', '/b> poetry run server'],
    ['/a> node srv.mjs', '/b> node srv.mjs'],
    ['/a> ./node /opt/srv.mjs', '/b> ./node /opt/srv.mjs'],
    ['/a> node --import ./hook.mjs /opt/srv.mjs', '/b> node --import ./hook.mjs /opt/srv.mjs'],
    ['/a> npx server', '/b> npx server'],
    ['/a> node srv.mjs', 'node srv.mjs'],
  ])('is another one: %s, and %s', (one, other) => {
    expect(identityOf(one)).not.toBe(identityOf(other))
  })

  it('is with a script every word of it, versions of packages included', () => {
    const identity = (script: string) => programIdentity({ command: 'sh', args: ['-c', script] })
    expect(identity('npx -y server@1.0.0 /one')).toBe(identity('npx -y server@1.0.0 /one'))
    expect(identity('npx -y server@2.0.0 /one')).not.toBe(identity('npx -y server@1.0.0 /one'))
  })
})

import { defineDependency } from 'quartermaster'
import { allOf, environment, http, path, program, secret, tcp } from 'quartermaster/probes'

export default [
  defineDependency({ name: 'database', probe: tcp({ port: 5432 }), fix: 'Run: docker compose up database' }),
  defineDependency({
    name: 'search',
    probe: http({ url: 'http://127.0.0.1:9200/_cluster/health', contains: 'green' }),
  }),
  defineDependency({ name: 'git', probe: program({ command: 'git', version: { atLeast: '2.30' } }) }),
  defineDependency({ name: 'reports', probe: path({ path: 'reports', base: import.meta.dirname, access: 'write' }) }),
  defineDependency({ name: 'region', probe: environment({ name: 'REGION' }) }),
  defineDependency({ name: 'api-key', probe: secret({ name: 'api-key' }) }),
  defineDependency({
    name: 'mirror',
    probe: allOf(program({ command: 'rsync' }), path({ path: 'mirror', base: import.meta.dirname, kind: 'folder' })),
    dependsOn: ['database'],
    watchIntervalMs: 60_000,
  }),
]

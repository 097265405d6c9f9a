import { createProcessManager } from '../../programs/process-manager.ts'
import { createSystemClock } from '../../system/index.ts'
import { createChildLog } from '../transport/child-log.ts'
import { openStdioChannel } from '../transport/stdio-channel.ts'
import { createLookingClock } from './polling-clock.ts'

// What a gateway does with children, as a process of its own that tests may kill. Its argument is a JSON text:
// { dataDir, servers: [[command, argument, …], …], looks }. It says "ready" and the reaper's number when all have answered,
// and it has looked at what they have started; unless it looks, nothing of that is known.

const { dataDir, servers, looks } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly dataDir: string
  readonly servers: string[][]
  readonly looks: boolean
}
const clock = createSystemClock()
const looking = createLookingClock()
const processManager = createProcessManager({ clock: looks ? looking : { ...clock, after: () => () => {} }, dataDir })

async function start([command = '', ...args]: string[]): Promise<void> {
  const log = createChildLog({ clock })
  const open = openStdioChannel({ command, args, env: {}, cwd: '/', clock, processes: processManager, log })
  const answered = new Promise<void>((resolve, reject) => {
    const events = { onMessage: () => resolve(), onEnd: ({ reason }: { reason: string }) => reject(new Error(reason)) }
    void open(events, new AbortController().signal)
      .then(channel => channel.send({ jsonrpc: '2.0', id: 1, method: 'ping' }))
      .catch(reject)
  })
  await answered
}

await Promise.all(servers.map(start))
if (looks) await looking.looked()
process.stdout.write(`ready ${processManager.reaperPid()}\n`)
process.stdin.on('data', () => void processManager.close().then(() => process.stdout.write('closed\n')))

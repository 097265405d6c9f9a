// @ts-check
// Loaded into a server before its own code: on each message of the parent, answers which functions ran since the last one.
import { Session } from 'node:inspector/promises'
import { isMainThread } from 'node:worker_threads'

const session = new Session()

/** Functions of ours that ran, by the file of each. @param {import('node:inspector').Profiler.ScriptCoverage[]} scripts */
function calledIn(scripts) {
  const ours = scripts.filter(({ url }) => url.includes('/dist/modules/'))
  return ours.flatMap(({ url, functions }) => {
    const file = url.slice(url.indexOf('/dist/modules/') + '/dist/modules/'.length)
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
    return called.length === 0
      ? []
      : [{ file, functions: called.map(({ functionName }) => functionName || '(anonymous)') }]
  })
}

if (isMainThread && process.send) {
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  process.on('message', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    process.send?.(calledIn(result))
  })
  process.channel?.unref()
}

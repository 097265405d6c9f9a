// @ts-check
import { figure } from '../lib/figure.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { auditLine, inFolder, insert, open } from './stage.mjs'

/**
 * Rows by id, one after the other and many at once, and pages of a list.
 * @param {object} options
 * @param {number} options.rows
 * @param {number} options.samples
 * @param {number} options.inFlight
 */
export function run({ rows, samples, inFlight }) {
  return inFolder(async dir => {
    const store = await open(dir)
    for (let i = 0; i < rows; i += 100) {
      const lines = Array.from({ length: Math.min(100, rows - i) }, (_, k) => insert('audit', auditLine(i + k)))
      await store.commit(lines)
    }
    const some = () => auditLine(Math.floor(Math.random() * rows))
    const byId = () => store.get('audit', some().id)
    const page = () =>
      store.find('audit', {
        where: { organisation: 'default', workspace: 'researcher' },
        order: { by: ['at', 'id'], direction: 'descending' },
        after: [some().at, ''],
        limit: 50,
      })
    const single = await timedEach(samples, byId)
    const pages = await timedEach(samples / 10, page)
    const startedAt = performance.now()
    let left = samples * 4
    const reader = async () => {
      while (left-- > 0) await byId()
    }
    await Promise.all(Array.from({ length: inFlight }, reader))
    const perSecond = (samples * 4) / ((performance.now() - startedAt) / 1_000)
    await store.close()
    return [
      figure('by id, p50', median(single), 'µs'),
      figure('by id, p99', p99(single), 'µs'),
      figure(`by id, ${inFlight} in flight`, perSecond, 'reads/s'),
      figure(`a page of 50 from ${rows}, p50`, median(pages), 'µs'),
    ]
  })
}

/**
 * @param {number} samples
 * @param {() => Promise<unknown>} work
 */
async function timedEach(samples, work) {
  for (let i = 0; i < samples / 10; i++) await work()
  const times = []
  for (let i = 0; i < samples; i++) {
    const startedAt = performance.now()
    await work()
    times.push((performance.now() - startedAt) * 1_000)
  }
  return times
}

/** All at once, and waited for to the last, also where one fails. */
export async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(items.map(work))
  const failed = outcomes.find(outcome => outcome.status === 'rejected')
  if (failed) throw failed.reason
}

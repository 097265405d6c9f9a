/** Has what is asked for one by one, but at the same moment, worked on together: at most so many in one batch. */
export function createBatches<Question, Answer>(
  size: number,
  work: Work<Question, Answer>,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = []

  function begin(): void {
    const all = waiting
    waiting = []
    for (const batch of inBatches(all, size)) void answerAll(batch, work)
  }

  return question =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(begin)
      waiting.push({ question, resolve, reject })
    })
}

/** Answers a batch, in its order. */
export type Work<Question, Answer> = (batch: readonly Question[]) => Promise<readonly Answer[]>

/** Cuts a list into pieces of a size; the last one may be smaller. */
export function inBatches<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size))
}

interface Waiting<Question, Answer> {
  question: Question
  resolve: (answer: Answer) => void
  reject: (reason: unknown) => void
}

async function answerAll<Question, Answer>(
  batch: readonly Waiting<Question, Answer>[],
  work: Work<Question, Answer>,
): Promise<void> {
  try {
    const answers = await work(batch.map(({ question }) => question))
    for (const [index, answer] of answers.entries()) batch[index]?.resolve(answer)
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

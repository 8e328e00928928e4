// Histograms of durations for Prometheus. prom-client looks up the labels for every value, which takes over a microsecond:
// here they are looked up once.

interface Series {
  readonly labels: Readonly<Record<string, string>>
  /** One count per bucket, not cumulative; the last one is for durations above all bounds. */
  readonly counts: Float64Array
  sum: number
}

/** Implements the part of prom-client's Histogram that its registry uses. */
export class Durations {
  readonly name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  readonly #series: Series[] = []

  /** `bounds`: upper bounds of the buckets, in seconds. */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name
    this.#help = help
    this.#bounds = bounds
  }

  /** Returns a function that records durations, in seconds. Call once per set of labels. */
  observer(labels: Series['labels']): (seconds: number) => void {
    const bounds = this.#bounds
    const series = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 }
    this.#series.push(series)
    return (seconds) => {
      let bucket = 0
      while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++
      series.counts[bucket] = (series.counts[bucket] as number) + 1
      series.sum += seconds
    }
  }

  async get() {
    const values = this.#series.flatMap((series) => this.#valuesOf(series))
    return { name: this.name, help: this.#help, type: 'histogram', aggregator: 'sum', values }
  }

  #valuesOf({ labels, counts, sum }: Series) {
    const value = (suffix: string, number: number, le?: number | string) => ({
      metricName: `${this.name}_${suffix}`,
      labels: le === undefined ? labels : { le, ...labels },
      value: number,
    })
    let count = 0
    const buckets = [...this.#bounds, '+Inf'].map((bound, i) => {
      count += counts[i] ?? 0
      return value('bucket', count, bound)
    })
    return [...buckets, value('sum', sum), value('count', count)]
  }
}

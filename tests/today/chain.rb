# outer_work -> middle_work -> leaf_work. chain.rb SECONDS
def leaf_work(n)
  s = n
  i = 0
  while i < 20_000
    s = (s * 31 + i) % 1_000_003
    i += 1
  end
  s
end

def middle_work(n)
  leaf_work(n) + 1
end

def outer_work(finish)
  t = 0
  t += middle_work(t % 7) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  t
end

puts outer_work(Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_f)
